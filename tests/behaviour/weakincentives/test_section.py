"""The section of MCP servers: when it is connected, what it says of its tools, and how several share a runtime."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from weakincentives.prompt import MarkdownSection
from weakincentives.resources import ResourceRegistry

from bascule import Runtime
from bascule.bridges.weakincentives import (
    McpConnectionError,
    McpConnectionPool,
    McpIntegrationParams,
    McpIntegrationSection,
    McpSchemaError,
)
from bascule.config import ServerConfig, StdioTransport
from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from support.bridge_matrix import configured
from support.children import children
from support.runtime import QUICKLY, a_tool, obeying, stand_in
from support.servers import pids, received
from support.threads import waited_for
from support.weakincentives_runs import a_prompt, a_session, connected, run

CREATE = a_tool("create_issue", {"properties": {"title": {"type": "string"}}}, description="Create a new issue")
READ = a_tool("read_file", {"properties": {"path": {"type": "string"}}}, description="Read contents of a file")


def unreachable(name: str = "gone") -> ServerConfig:
    return ServerConfig(name, StdioTransport(command="no-such-command-anywhere"))


def names(section: McpIntegrationSection) -> list[str]:
    return [tool.name for tool in section.tools()]


def rendered(section: McpIntegrationSection) -> str:
    return a_prompt(section).render(session=section.session).text


@pytest.mark.requirement("BRG-3")
def test_before_it_is_connected_it_has_no_tools_and_has_started_nothing(tmp_path: Path):
    server = obeying(tmp_path / "log")
    section = McpIntegrationSection(servers=[server], session=a_session())

    with pytest.raises(McpConnectionError, match="not connected") as raised:
        section.tools()

    assert (raised.value.server_name, raised.value.transport) == ("work", server.transport)
    assert not section.connected
    assert not (tmp_path / "log").exists()


@pytest.mark.requirement("BRG-3")
def test_connecting_and_disconnecting_again_changes_nothing(tmp_path: Path):
    before = children()
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session())
    section.connect()
    section.connect()
    assert section.connected
    assert names(section) == ["work_act"]
    section.disconnect()
    section.disconnect()

    assert not section.connected
    assert len(pids(tmp_path / "log")) == 1
    assert children() == before
    with pytest.raises(McpConnectionError):
        section.tools()


@pytest.mark.requirement("BRG-3")
def test_it_can_be_connected_again(tmp_path: Path):
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session())
    for _ in range(2):
        with section:
            assert run(tmp_path, section, ("work_act", {})).shown[0].success

    assert len(pids(tmp_path / "log")) == 2


@pytest.mark.requirement("BRG-3")
def test_it_can_be_connected_as_soon_as_it_is_made(tmp_path: Path):
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session(), connect_on_init=True)

    assert section.connected
    section.disconnect()


@pytest.mark.requirement("BRG-3")
def test_a_block_disconnects_whatever_happens_in_it(tmp_path: Path):
    before = children()
    with pytest.raises(ZeroDivisionError), connected(obeying(tmp_path / "log")):
        raise ZeroDivisionError

    assert len(pids(tmp_path / "log")) == 1
    assert children() == before


@pytest.mark.requirement("BRG-3")
def test_a_server_that_cannot_be_reached_is_named_and_nothing_is_left_of_the_others(tmp_path: Path):
    before = children()
    gone = unreachable()
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log"), gone], session=a_session())

    with pytest.raises(McpConnectionError, match="no-such-command-anywhere") as raised:
        section.connect()

    assert (raised.value.server_name, raised.value.transport) == ("gone", gone.transport)
    assert not section.connected
    assert children() == before


@pytest.mark.requirement("BRG-3")
def test_whoever_can_do_without_a_server_has_the_tools_of_the_others(tmp_path: Path):
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log"), unreachable()], session=a_session())
    section.connect(require_all=False)

    assert names(section) == ["work_act"]
    assert not section.connected
    section.disconnect()


def test_with_no_server_at_all_there_is_nothing_to_do_without(tmp_path: Path):
    section = McpIntegrationSection(servers=[unreachable()], session=a_session())

    with pytest.raises(McpConnectionError):
        section.connect(require_all=False)


@pytest.mark.requirement("BRG-3")
def test_a_server_that_dies_is_noticed_and_comes_back(tmp_path: Path):
    log = tmp_path / "log"
    with connected(obeying(log, restart=QUICKLY)) as section:
        os.kill(pids(log)[0], signal.SIGKILL)
        waited_for(lambda: len(pids(log)) == 2)
        waited_for(lambda: section.connected)

        assert run(tmp_path, section, ("work_act", {})).shown[0].success


@pytest.mark.requirement("BRG-3")
def test_by_default_it_lists_the_tools_of_each_server(tmp_path: Path):
    github = obeying(tmp_path / "github", CREATE, name="github")
    files = obeying(tmp_path / "files", READ, name="filesystem")
    with connected(github, files) as section:
        text = rendered(section)

    assert text == (
        "## 1. MCP Integrations (mcp.integrations)\n\n"
        "The following external tools are available via MCP:\n\n"
        "### github\n\n- `github_create_issue` - Create a new issue\n\n"
        "### filesystem\n\n- `filesystem_read_file` - Read contents of a file"
    )


@pytest.mark.requirement("BRG-3")
def test_a_template_of_ones_own_is_filled_in(tmp_path: Path):
    template = """
        Servers: ${server_names}
        Tools: ${tool_count}, for $$0
        ${tools_by_server}
    """
    with connected(obeying(tmp_path / "log", CREATE, READ), template=template, title="Mine", key="mine") as section:
        text = rendered(section)

    assert text.startswith("## 1. Mine (mine)\n\nServers: work\nTools: 2, for $0\n### work")


@pytest.mark.parametrize(("template", "word"), [("${tools}", "tools"), ("costs $ 5", "dollar sign")])
def test_a_template_that_could_never_be_filled_in_is_refused_at_once(tmp_path: Path, template: str, word: str):
    with pytest.raises(UsageError) as raised:
        McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session(), template=template)

    assert word in f"{raised.value.message} {raised.value.fix}"


@pytest.mark.requirement("BRG-3")
def test_a_long_description_is_cut_for_the_framework_and_whole_in_the_prompt(tmp_path: Path):
    words = "Crée une « issue » ☃. " + "Then it says a good deal more about it. " * 10 + "\n\n## The end"
    with connected(obeying(tmp_path / "log", a_tool("Long", description=words))) as section:
        (tool,) = section.tools()
        text = rendered(section)

        assert tool.name == "work_long"
        assert tool.description.startswith("Cree une ? issue ? ?. Then it says")
        assert tool.description.endswith("...")
        assert len(tool.description) <= 200
        assert section.description("work_long") == words
        # In one line: a server cannot write headings into the prompt.
        assert f"- `work_long` - {' '.join(words.split())}" in text


def test_tools_that_differ_in_capitals_alone_are_told_and_not_mixed_up(tmp_path: Path):
    section = McpIntegrationSection(
        servers=[obeying(tmp_path / "log", a_tool("Say"), a_tool("say"))], session=a_session()
    )

    with pytest.raises(McpSchemaError, match="two tools would be called work_say") as raised:
        section.connect()

    assert (raised.value.server_name, raised.value.tool_name) == ("work", "say")
    assert "work_Say and work_say" in raised.value.reason
    assert not section.connected


@pytest.mark.requirement("BRG-3")
def test_each_rendering_has_the_tools_that_are_there_by_then(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text('[{"name": "one", "inputSchema": {"type": "object"}}]')
    with connected(stand_in("work", "obeying", tmp_path / "log", f"@{tools}", lifetime="call")) as section:
        prompt = a_prompt(section)
        first = [tool.name for tool in prompt.render(session=section.session).tools]
        tools.write_text('[{"name": "two", "inputSchema": {"type": "object"}}]')
        section.agent_session.call("work_one", {})
        second = [tool.name for tool in prompt.render(session=section.session).tools]

    assert (first, second) == (["work_one"], ["work_two"])


@pytest.mark.requirement("BRG-3")
def test_a_clone_is_of_another_session_on_the_same_runtime(tmp_path: Path):
    log = tmp_path / "log"
    with connected(obeying(log), title="Mine", key="mine", template="${server_names}") as section:
        other = a_session()
        with section.clone(session=other) as clone:
            assert (clone.session, clone.title, clone.key) == (other, "Mine", "mine")
            assert run(tmp_path, clone, ("work_act", {})).shown[0].success
            assert len(pids(log)) == 2
        assert section.connected
        assert run(tmp_path, section, ("work_act", {})).shown[0].success

    assert len(pids(log)) == 2


def test_a_clone_of_what_is_not_connected_is_not(tmp_path: Path):
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session())

    assert not section.clone(session=a_session()).connected
    with pytest.raises(TypeError, match="session is required"):
        section.clone()
    with pytest.raises(TypeError, match="dispatcher"):
        section.clone(session=a_session(), dispatcher=a_session().dispatcher)


@pytest.mark.requirement("BRG-1")
def test_sections_of_one_runtime_have_levels_of_their_own(tmp_path: Path):
    runtime = Runtime.from_file(configured(tmp_path))
    with (
        McpIntegrationSection(session=a_session(), runtime=runtime, user_id="alice") as one,
        McpIntegrationSection(session=a_session(), runtime=runtime, user_id="alice") as other,
    ):
        assert run(tmp_path, one, ("work_private", {})).shown[0].success

        assert one.agent_session.sensitivity is DataSensitivity.CONFIDENTIAL
        assert other.agent_session.sensitivity is DataSensitivity.PUBLIC
        assert one.agent_session.principal.user_id == "alice"
        assert one.agent_session.principal.session_id == str(one.session.session_id)
        assert run(tmp_path, one, ("work_where", {})).shown[0].text == "twin"
        assert run(tmp_path, other, ("work_where", {})).shown[0].text == "work"


def test_a_section_may_have_only_some_servers_of_a_runtime(tmp_path: Path):
    one, two = obeying(tmp_path / "one", name="one"), obeying(tmp_path / "two", name="two")
    runtime = Runtime.from_servers({"one": one, "two": two})
    with McpIntegrationSection(servers=[two], session=a_session(), runtime=runtime) as section:
        assert names(section) == ["two_act"]
        assert list(section.servers) == ["two"]

    with pytest.raises(UsageError, match="others of that name: one"):
        McpIntegrationSection(servers=[obeying(tmp_path / "x", name="one")], session=a_session(), runtime=runtime)


def test_servers_are_needed_each_with_a_name_of_its_own(tmp_path: Path):
    with pytest.raises(UsageError, match="needs servers"):
        McpIntegrationSection(session=a_session())
    with pytest.raises(UsageError, match="one name"):
        McpIntegrationSection(servers=[obeying(tmp_path / "a"), obeying(tmp_path / "b")], session=a_session())


@pytest.mark.requirement("BRG-3")
def test_the_framework_cleans_it_up_after_a_run_unless_a_block_holds_it(tmp_path: Path):
    held = McpIntegrationSection(servers=[obeying(tmp_path / "a")], session=a_session())
    loose = McpIntegrationSection(servers=[obeying(tmp_path / "b")], session=a_session(), connect_on_init=True)
    with held:
        a_prompt(held).cleanup()
        assert held.connected
    a_prompt(loose).cleanup()

    assert not loose.connected


@pytest.mark.requirement("BRG-3")
def test_it_accepts_overrides_only_where_it_says_so(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as closed, closed.clone(session=a_session()) as _:
        assert not closed.accepts_overrides
        assert not closed.tools()[0].accepts_overrides
    with connected(obeying(tmp_path / "log"), accepts_overrides=True) as opened:
        assert opened.tools()[0].accepts_overrides
        text = opened.render_override("Only ${tool_count}.", McpIntegrationParams(), 1, "1.2", ("mine",))
        assert text == "### 1.2. MCP Integrations (mine)\n\nOnly 1."
        assert opened.original_body_template() is not None


def test_it_stands_beside_other_sections_and_below_them(tmp_path: Path):
    with connected(obeying(tmp_path / "log", CREATE)) as section:
        params: Any = MarkdownSection[McpIntegrationParams]
        parent = params(title="Tools", template="All of them.", key="tools", children=[section])
        text = a_prompt(parent).render(session=section.session).text

    assert "### 1.1. MCP Integrations (tools.mcp.integrations)" in text
    assert "#### work\n\n- `work_create_issue`" in text


@pytest.mark.requirement("BRG-3")
def test_its_connections_are_among_the_resources(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as section:
        registry = section.resources()
        assert isinstance(registry, ResourceRegistry)
        with registry.open() as resources:
            assert "work" in resources.get(McpConnectionPool)
        # The framework closes what it can close, and these go on.
        assert section.connected


def test_what_a_server_lists_is_asked_for_once_however_often_the_framework_looks(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as section:
        asked = len(received(tmp_path / "log"))
        for _ in range(100):
            section.tools()
        assert len(received(tmp_path / "log")) == asked
