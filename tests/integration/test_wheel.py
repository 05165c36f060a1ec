"""The wheel in an environment of its own, outside of the checkout: what is read from a file must have come with it."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.core.error_codes import CODES
from support.peers import ROOT, uv

pytestmark = pytest.mark.long

Run = Callable[..., str]
"""Runs a command of the environment in the test's own folder; gives what it printed."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the commands of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    _uv(folder, "build", "--wheel", "--out-dir", folder, ROOT)
    _uv(folder, "venv", folder / "venv")
    _uv(folder, "pip", "install", "--python", folder / "venv" / "bin" / "python", *folder.glob("*.whl"))
    return folder / "venv" / "bin"


def _uv(folder: Path, *args: str | Path) -> None:
    subprocess.run([uv(), "--quiet", *args], cwd=folder, check=True, timeout=300)


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "PATH", "BASCULE_HOME") if name in os.environ}

    def ran(program: str, *args: str) -> str:
        done = subprocess.run(
            [installed / program, *args],
            cwd=tmp_path,
            env=kept,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return ran


def test_every_error_code_is_explained(run: Run):
    assert run("bascule", "explain", "BSC-401").startswith("# BSC-401: ")

    script = (
        "from bascule.cli.commands.explain import CODES, page_of\nfor code in CODES: print(page_of(code).split()[1])"
    )
    assert run("python", "-c", script).split() == [f"{code}:" for code in CODES]


def test_a_new_server_is_written(run: Run, tmp_path: Path):
    run("bascule", "new", "server", "x")

    assert {path.name for path in (tmp_path / "x").iterdir()} == {
        path.name for path in (ROOT / "examples" / "template").iterdir() if path.suffix in {".py", ".yaml", ".md"}
    }


def test_the_demo_servers_run_in_their_default_sandboxes(run: Run, installed: Path, tmp_path: Path):
    args = {"clock": [], "files": [str(tmp_path)], "notes": [], "post": []}
    servers = {
        name: {"command": str(installed / "python"), "args": ["-m", f"bascule.demo.{name}", *more]}
        for name, more in args.items()
    }
    (tmp_path / "bascule.json").write_text(json.dumps({"mcp_servers": servers}))

    assert run("python", "-m", "bascule.demo.clock") == ""
    listed = json.loads(run("bascule", "list", "--json", "--config", "bascule.json"))
    assert {server["name"]: server["state"] for server in listed["servers"]} == dict.fromkeys(args, "ready")


def test_the_public_packages_need_no_extra(run: Run):
    run("python", "-c", "import bascule.kit, bascule.testing, bascule.workspace, bascule.config")
