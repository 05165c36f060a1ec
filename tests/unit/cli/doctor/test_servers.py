"""Health checks of servers and their tools."""

from dataclasses import replace
from pathlib import Path

from bascule.cli.doctor.check import Insight
from bascule.cli.doctor.servers import (
    collision_checks,
    model_checks,
    name_checks,
    path_insight,
    pinning_checks,
    server_checks,
)
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.core.errors import ConnectFailed
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.state import LinkState


def test_a_failure_is_told_with_what_else_is_known():
    report = ServerReport("a", "stdio", LinkState.FAILED, error=ConnectFailed("it exited", evidence="boom", fix="look"))
    known = [Insight("Node is old", "v12", "install"), Insight(evidence="more")]
    (check,) = server_checks(report, (), known)

    assert (check.message, check.evidence) == ("BSC-401 it exited: Node is old", "boom\nv12\nmore")
    assert check.fix == "install"


def test_tools_with_one_name_are_told_of_together():
    specs = [ToolSpec("x", ToolKey(server, "x"), "d", status=ToolStatus.COLLIDING) for server in ("a", "b")]
    (check,) = collision_checks(specs)

    assert check.evidence == "a/x\nb/x"
    assert "`prefix: b`" in check.fix


ODD = ToolSpec("notes_find", ToolKey("notes", "find"), "d", input_schema={"type": "object", "oneOf": [{}]})


def test_a_tool_is_told_of_once_with_all_who_refuse_it():
    (check,) = model_checks([ODD, replace(ODD, input_schema={})])

    assert check.message == "OpenAI and Anthropic would refuse every request with this tool in it"


def test_what_agents_are_not_given_is_refused_by_nobody():
    assert list(model_checks([replace(ODD, status=ToolStatus.HIDDEN)])) == []


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


def test_an_unpinned_package_is_a_warning_with_what_to_write():
    (check,) = pinning_checks(ServerConfig("a", StdioTransport("npx", ("-y", "pkg"))))

    assert (check.subject, check.status) == ("package a", "warn")
    assert "pkg@VERSION" in check.fix


def test_a_pinned_one_and_a_remote_server_are_in_order():
    assert [*pinning_checks(ServerConfig("a", StdioTransport("npx", ("-y", "pkg@1.2.3"))))] == []
    assert [*pinning_checks(ServerConfig("a", StreamableHttpTransport("https://a.test/mcp")))] == []


def test_a_tool_with_a_name_of_ours_is_told_where_it_matters():
    spec = ToolSpec("call_tool", ToolKey("work", "call_tool"), "sha256:0")
    (check,) = name_checks(RuntimeConfig({}, search_above=5), [spec])

    assert "through call_tool" in check.message
    assert "prefix" in check.fix
    assert [*name_checks(RuntimeConfig({}), [spec])] == []
