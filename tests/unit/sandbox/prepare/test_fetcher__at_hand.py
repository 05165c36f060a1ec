from pathlib import Path

import pytest

from bascule.sandbox.prepare.fetcher import at_hand
from bascule.sandbox.prepare.package import Package
from support.packages import command, install


@pytest.mark.parametrize(
    ("spec", "binary", "runner", "expected"),
    [
        ("server", None, "npx", True),
        ("other", None, "npx", False),
        ("server@1.0", None, "npx", False),
        ("@scope/server", None, "npx", False),
        ("server", "server", "npx", False),
        ("server", None, "pnpm", False),
    ],
)
def test_npx_runs_what_the_project_has_before_it_fetches(
    tmp_path: Path, spec: str, binary: str | None, runner: str, expected: bool
):
    install(tmp_path)
    (tmp_path / "below").mkdir()
    package = Package("npm", (spec,), binary, (), runner)

    assert at_hand(package, command("npx", path="", cwd=str(tmp_path / "below"))) is expected


def test_without_a_folder_there_is_no_project(tmp_path: Path):
    assert not at_hand(Package("npm", ("server",), None, ()), command("npx", path=""))
