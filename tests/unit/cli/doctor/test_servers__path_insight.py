"""A script that is not where it is looked for."""

from pathlib import Path

from bascule.cli.doctor.servers import path_insight
from bascule.config import ServerConfig, StdioTransport


def test_a_script_beside_the_config_is_found_there(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "s.py").touch()
    server = ServerConfig("notes", StdioTransport("python", ("s.py",), cwd=str(elsewhere)))
    (found,) = path_insight(server, tmp_path / "bascule.yaml")

    assert found.cause == f"there is no s.py in {elsewhere}"
    assert f"`cwd: {tmp_path}`" in found.fix
    there = ServerConfig("notes", StdioTransport("python", ("s.py",), cwd=str(tmp_path)))
    assert path_insight(there, None) == []
