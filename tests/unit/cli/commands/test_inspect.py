"""`bascule inspect`: everything known of a server or a tool, with its sandbox."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bascule import tool
from bascule.cli.commands.inspect import box_shape, known_of, sandbox_shape, server_shape, tool_shape, word_shape
from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport, UnixSocketTransport
from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.core.errors import ConnectFailed, UnknownTool
from bascule.core.events import CatalogChanged
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.status import ServerReport
from bascule.sandbox.engines import Engines
from bascule.sandbox.factory import UNBOXED, Boxing
from bascule.sandbox.spec.engine import SharedInodes
from bascule.upstream.state import LinkState
from support.box_engines import NotingEngine
from support.command import bascule
from support.servers import SERVERS
from support.waiting import fail_after

ECHO = str(SERVERS / "echo.py")


def runtime() -> Runtime:
    good = ServerConfig(name="echo", transport=StdioTransport(command=sys.executable, args=(ECHO,)))
    bad = ServerConfig(name="bad", transport=StdioTransport(command="no-such-command-anywhere"))
    return Runtime.from_servers({"echo": good, "bad": bad})


async def test_a_tool_is_shown_with_its_schema_digest_and_signature():
    async with fail_after(20), runtime() as running:
        shape: Any = await known_of(running.session("a", "b"), "echo_echo")
    assert shape["signature"] == "echo(message: string)"
    assert shape["input_schema"]["required"] == ["message"]
    assert shape["digest"].startswith("sha256:")
    assert shape["permissions"] == ["connect", "write"]


async def test_a_server_is_shown_with_its_era_and_tools_and_nobody_else_is_started():
    async with fail_after(20), runtime() as running:
        session = running.session("a", "b")
        shape: Any = await known_of(session, "echo")
        assert {report.name: report.state for report in session.servers()}["bad"] is LinkState.CONFIGURED
    assert (shape["state"], shape["era"]) == ("ready", "2026-07-28")
    assert [tool["name"] for tool in shape["tools"]] == ["echo_echo"]


async def test_a_server_that_fails_is_shown_with_its_error():
    async with fail_after(20), runtime() as running:
        session = running.session("a", "b")
        shape: Any = await known_of(session, "bad")
        assert shape == await known_of(session, "bad")
    assert shape["state"] == "failed"
    assert shape["error"]["code"] == "BSC-410"


async def test_a_name_that_is_neither_says_what_is_near():
    async with fail_after(20), runtime() as running:
        with pytest.raises(UnknownTool, match=r"no server and no tool .*echo_echo"):
            await known_of(running.session("a", "b"), "echo_ehco")


def test_a_change_since_the_last_run_is_part_of_what_is_known():
    change = CatalogChanged("files", ("new",), ("read",), (), 1.0)
    report = ServerReport("files", "stdio", LinkState.READY, change=change, error=ConnectFailed("x"))
    shape = server_shape(report, [])
    assert shape["changed_since_last_run"] == {"added": ["new"], "changed": ["read"], "removed": []}


def test_a_tool_without_an_output_schema_has_none():
    assert tool_shape(ToolSpec("a_b", ToolKey("a", "b"), "sha256:0"))["output_schema"] is None


@pytest.mark.long
async def test_the_command_prints_yaml_or_json(tmp_path: Path):
    servers = {"echo": {"command": sys.executable, "args": [ECHO]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    shown = await bascule(tmp_path, "inspect", "echo_echo")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "name: echo_echo")
    assert (await bascule(tmp_path, "inspect", "echo_echo", "--json")).json["tool"] == "echo"
    assert (await bascule(tmp_path, "inspect", "nothing")).code == 2


def test_the_operators_word_on_a_server_is_part_of_what_is_known():
    server = ServerConfig(
        name="files",
        transport=StdioTransport("files"),
        isolated=StdioTransport("files", ("--offline",)),
        twin="eager",
        raises={"read": DataSensitivity.SECRET},
        ask=("write",),
        trust=frozenset({"labels", "fatal"}),
        permissions={"read": frozenset({Permission.READ})},
    )
    assert word_shape(server, boxed=False) == {
        "footing": "confined",
        "twin": {"by": "declared", "transport": "stdio", "command": ["files", "--offline"], "opened": "eager"},
        "vouched": None,
        "raises": {"read": "secret"},
        "ask": ["write"],
        "trust": ["fatal", "labels"],
        "permissions": {"read": ["read"]},
    }


def test_a_twin_behind_an_address_and_a_vouched_server_are_told_apart():
    twin = UnixSocketTransport("unix:///run/twin.sock", headers={"Authorization": "Bearer s3cret"})
    confined = word_shape(ServerConfig(name="files", transport=StdioTransport("files"), isolated=twin), boxed=False)
    assert confined["twin"] == {
        "by": "declared",
        "transport": "unix",
        "url": "unix:///run/twin.sock",
        "opened": "lazy",
    }
    vouched = ServerConfig(name="files", transport=StdioTransport("files"), vouched=DataSensitivity.CONFIDENTIAL)
    assert (word_shape(vouched, boxed=False)["footing"], word_shape(vouched, boxed=False)["vouched"]) == (
        "vouched: confidential",
        "confidential",
    )
    plain = ServerConfig(name="files", transport=StdioTransport("files"))
    assert word_shape(plain, boxed=False)["footing"] == "loose"
    assert word_shape(plain, boxed=False)["twin"] is None
    boxed: Any = word_shape(plain, boxed=True)
    assert (boxed["footing"], boxed["twin"]["by"]) == ("confined", "probed")


async def test_functions_of_a_program_are_shown_like_the_tools_of_any_server():
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    async with fail_after(20), Runtime.from_servers({"own": [tool("read")(add)]}) as runtime:
        session = runtime.session("alice", "s-1")
        server: Any = await known_of(session, "own")
        one: Any = await known_of(session, "own_add")

    assert (server["transport"], server["state"], server["footing"]) == ("native", "ready", "native")
    assert server["permissions"] == {"add": ["read"]}
    assert [each["name"] for each in server["tools"]] == ["own_add"]
    assert (one["signature"], one["permissions"], one["description"]) == (
        "add(a: integer, b?: integer)",
        ["read"],
        "Add.",
    )


async def test_a_server_that_is_kept_from_the_agent_session_is_denied_and_told_how_to_go_on(tmp_path: Path):
    servers = {"echo": {"command": sys.executable, "args": [ECHO]}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    me = ("--user", "alice", "--session", "s-1")
    assert (await bascule(tmp_path, "sessions", "raise", *me, "--to", "secret")).code == 0
    ran = await bascule(tmp_path, "inspect", "echo", "--json", *me)
    assert (ran.code, ran.json["error"]["code"], ran.json["footing"]) == (4, "BSC-300", "loose")
    assert "--session ID goes on in another agent session" in ran.err


BOXING = Boxing(Engines((NotingEngine(),)))


def told(path: Path, **more: Any) -> dict[str, Any]:
    server = ServerConfig("files", StdioTransport(sys.executable, ("-V", str(path))), **more)
    shape = box_shape(server, BOXING, {"PATH": "/usr/bin:/bin", "HOME": "/root"})
    assert shape is not None
    return {**shape}


def test_the_paths_that_a_command_names_are_told_with_the_reason(tmp_path: Path):
    shape = told(tmp_path)
    assert (shape["engine"], shape["bounds"]) == ("bubblewrap", {"memory": "as noted"})
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


async def test_inodes_that_a_private_sandbox_shares_are_told_with_the_reason(tmp_path: Path):
    engine = NotingEngine()
    server = ServerConfig("files", StdioTransport(sys.executable, ("-V", str(tmp_path))))
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/root"}
    alone = await sandbox_shape(server, Boxing(Engines((engine,))), environ)
    assert alone is not None
    assert "shared_inodes" not in alone
    engine.shares = SharedInodes((str(tmp_path),), "no overlay")
    shape = await sandbox_shape(server, Boxing(Engines((engine,))), environ)
    assert shape is not None
    assert (shape.get("shared_inodes"), shape.get("shared_why")) == ([str(tmp_path)], "no overlay")
    assert await sandbox_shape(ServerConfig("files", StdioTransport("x")), UNBOXED) is None
