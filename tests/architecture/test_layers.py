"""The layers hold, and the picture in the documentation is the one that is held."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True, no_logo=True))"


def contracts() -> dict[str, dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def house() -> list[list[str]]:
    return [re.split(r"\s*\|\s*", row) for row in contracts()["house"]["layers"]]


def test_every_contract_is_kept():
    ended = subprocess.run(
        [sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_house_is_exhaustive():
    assert contracts()["house"]["exhaustive"] is True


def design() -> str:
    return (ROOT / "docs/design.md").read_text(encoding="utf-8")


def test_every_row_of_the_house_is_drawn_in_the_documentation():
    drawn = re.search(r"```text\n(cli\n.*?)```", design(), re.DOTALL)

    assert drawn is not None, "docs/design.md draws no house"
    rows = [re.split(r"\s{2,}", line.strip())[0].split(" | ") for line in drawn[1].splitlines()]
    assert rows == house()


def test_every_room_is_a_package():
    rooms = {room for row in house() for room in row}

    assert {room for room in rooms if not (ROOT / "src/bascule" / room / "__init__.py").is_file()} == set()


def test_every_module_that_the_design_page_names_exists():
    named = set(re.findall(r"(?<![\w/.-])((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)(?![\w*])", design()))
    places = [ROOT, ROOT / "src/bascule"]

    assert len(named) > 50, "the names of modules are no longer found"
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()
