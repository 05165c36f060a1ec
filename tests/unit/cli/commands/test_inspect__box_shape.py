"""What is told of a server's box."""

import sys
from pathlib import Path
from typing import Any

from bascule.cli.commands.inspect import box_shape
from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.sandbox.engines import Engines
from bascule.sandbox.factory import UNBOXED, Boxing
from support.box_engines import NotingEngine

BOXING = Boxing(Engines((NotingEngine(),)))


def told(path: Path, **more: Any) -> dict[str, Any]:
    server = ServerConfig("files", StdioTransport(sys.executable, ("-V", str(path))), **more)
    shape = box_shape(server, BOXING, {"PATH": "/usr/bin:/bin", "HOME": "/root"})
    assert shape is not None
    return {**shape}


def test_the_paths_that_a_command_names_are_told_with_the_reason(tmp_path: Path):
    shape = told(tmp_path)
    assert shape["engine"] == "bubblewrap"
    assert {"path": str(tmp_path), "mode": "ro", "why": "argument"} in shape["shows"]


def test_what_is_left_out_is_told_too():
    assert [each["mode"] for each in told(Path("/home"))["shows"] if each["path"] == "/home"] == ["no"]


def test_a_mount_that_is_not_there_is_told_as_such(tmp_path: Path):
    shape = told(tmp_path, sandbox=Sandbox(mounts=(HostPath(f"{tmp_path}/missing"),)))
    assert "is not there" in shape["error"]


def test_who_has_no_box_has_nothing_to_show(tmp_path: Path):
    far = ServerConfig("far", StreamableHttpTransport("https://a.test/mcp"))
    assert box_shape(far, BOXING) is None
    assert box_shape(ServerConfig("files", StdioTransport("x")), UNBOXED) is None
