from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.bridges.weakincentives import section as module
from bascule.bridges.weakincentives.errors import McpConnectionError, McpSchemaError
from bascule.bridges.weakincentives.section import (
    DEFAULT,
    NO_TOOLS,
    McpIntegrationParams,
    McpIntegrationSection,
    check_template,
    filled_in,
)
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.runtime import Runtime
from support.runtime import a_tool, bad, good, obeying, stand_in
from support.weakincentives_runs import a_session, connected


def test_without_a_user_it_is_the_one_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOGNAME", "carol")
    with connected(obeying(tmp_path / "log")) as section:
        assert section.agent_session.principal.user_id == "carol"

    def nobody() -> str:
        raise OSError("no name")

    monkeypatch.setattr(module.getpass, "getuser", nobody)
    with pytest.raises(UsageError, match="no name for its user"):
        McpIntegrationSection(servers=[obeying(tmp_path / "log")], session=a_session())


def test_a_required_server_that_fails_is_named(tmp_path: Path):
    gone = stand_in("gone", "no_such_server", required=True)
    section = McpIntegrationSection(servers=[obeying(tmp_path / "log"), gone], session=a_session())

    with pytest.raises(McpConnectionError) as raised:
        section.connect(require_all=False)
    assert raised.value.server_name == "gone"


def test_a_runtime_that_somebody_closed_can_be_connected_to_again(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as section:
        section._shared.home.close()
        assert not section.connected
        with pytest.raises(McpConnectionError):
            section.tools()
        section.connect()
        assert section.connected


def test_a_tool_that_cannot_be_used_is_told_and_the_others_are_there(tmp_path: Path):
    with connected(obeying(tmp_path / "log", a_tool("one"))) as section:
        assert section.refused == ()
        assert section.render_body(McpIntegrationParams()).endswith("- `work_one` - work_one")


def test_what_is_left_of_a_run_bounds_a_call_only_where_it_is_less(tmp_path: Path):
    with connected(obeying(tmp_path / "log")) as section:
        (spec,) = section.agent_session.offered()
        good(section._call(spec, {}, 1000.0, None))
        assert "0.2" in bad(section._call(spec, {"silent": True}, 0.2, None), FailureKind.TIMEOUT).message


def test_servers_that_a_runtime_no_longer_has_are_not_the_sections(tmp_path: Path):
    runtime = Runtime.from_servers({"work": obeying(tmp_path / "log")})
    section = McpIntegrationSection(session=a_session(), runtime=runtime)

    assert list(section.servers) == ["work"]


SAY = ToolSpec("work_Say", ToolKey("work", "Say"), "digest", "Says $it.")
ODD = ToolSpec("work_odd", ToolKey("work", "odd"), "digest")


def test_servers_are_listed_with_their_tools_one_level_below_the_section():
    assert filled_in(DEFAULT, {"work": {"work_say": SAY}, "idle": {}}, 0).endswith(
        "### work\n\n- `work_say` - Says $it.\n\n### idle\n\n(no tools)"
    )
    assert "##### work" in filled_in(DEFAULT, {"work": {}}, 2)


def test_a_template_may_name_each_variable():
    text = filled_in("$server_names ${tool_count} $$", {"a": {"x": SAY}, "b": {}}, 0)

    assert text == "a, b 1 $"


@pytest.mark.parametrize("template", ["$", "${nothing}", "$tools_by_servers", "${"])
def test_a_template_with_anything_else_is_refused(template: str):
    with pytest.raises(UsageError):
        check_template(template)


def test_the_default_is_one():
    check_template(DEFAULT)


class Making:
    """Makes tools of nothing, but for odd ones, and counts them."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, name: str, spec: ToolSpec) -> Any:
        if spec.key.tool == "odd":
            raise McpSchemaError("no", server_name="work", tool_name="odd", reason="it is odd")
        self.made.append(name)
        return object()


def test_a_tool_that_did_not_change_stays_the_same():
    make = Making()
    first = NO_TOOLS.following([SAY], make)
    second = first.following([SAY], make)
    third = second.following([replace(SAY, description="Says more.")], make)

    assert first.all == second.all
    assert third.all != second.all
    assert make.made == ["work_say", "work_say"]
    assert third.spec("work_say").description == "Says more."


def test_one_that_cannot_be_made_is_told_and_takes_no_other_with_it():
    found = NO_TOOLS.following([ODD, SAY], Making())

    assert len(found.all) == 1
    assert [error.tool_name for error in found.refused] == ["odd"]


def test_tools_are_told_by_server():
    assert NO_TOOLS.following([SAY], Making()).by_server(["idle"]) == {"idle": {}, "work": {"work_say": SAY}}


def test_two_of_one_name_are_an_error():
    with pytest.raises(McpSchemaError):
        NO_TOOLS.following([SAY, replace(SAY, name="work_say")], Making())
