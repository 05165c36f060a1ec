"""What doctor checks of packages and names."""

from bascule.cli.doctor.servers import name_checks, pinning_checks
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.core.tool import ToolKey, ToolSpec


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
