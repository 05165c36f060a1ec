"""What `bascule snippet weakincentives` prints, run as it stands, with a stand-in for Codex on the path."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CODEX = ROOT / "examples" / "weakincentives" / "codex.py"


@pytest.mark.requirement("UX-2")
def test_the_program_calls_a_tool_of_the_users_own_servers(tmp_path: Path):
    (tmp_path / "bascule.yaml").write_text("mcp_servers:\n  notes: {command: python, args: [-m, bascule.demo.notes]}\n")
    calls = json.dumps([["notes_search", {}]])
    codex = tmp_path / "codex"
    codex.write_text(f'#!/bin/sh\nCALLS={shlex.quote(calls)} exec {sys.executable} {CODEX} "$@"\n')
    codex.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "BASCULE_HOME": str(tmp_path / "state")}

    def run(*argv: str) -> str:
        ran = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=90)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    (tmp_path / "agent.py").write_text(run(sys.executable, "-m", "bascule.cli.main", "snippet", "weakincentives"))
    shown = run(sys.executable, "agent.py")

    assert "called: notes_search" in shown
    assert "notes: []" in shown
    assert "level: PUBLIC" in shown
