"""The plain gateway: names that keep their meaning, replies as dicts, one life."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from bascule.bridges.plain import MOST_NAMES, MCPToolGateway, Names, Reply, ToolInfo, own_session
from bascule.config import ServerConfig
from bascule.core.errors import ConnectFailed, UsageError
from bascule.core.failure_action import RunStopped
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import SyncRuntime
from support.children import children
from support.live import Living
from support.runtime import a_tool, obeying, stand_in
from support.scenarios import entry, write_yaml
from support.servers import methods, pids
from support.threads import in_thread, interrupted_once, waited_for

# Names


def spec(server: str, tool: str, name: str | None = None) -> ToolSpec:
    return ToolSpec(name=name or f"{server}_{tool}", key=ToolKey(server, tool), digest="")


def named(*specs: ToolSpec, names: Names | None = None) -> list[str | None]:
    names = names or Names()
    names.follow(specs)
    return [names.of(spec.key) for spec in specs]


def test_a_tool_has_its_own_name_where_it_is_the_only_one():
    assert named(spec("a", "echo"), spec("b", "search")) == ["echo", "search"]


def test_tools_of_one_name_have_the_prefix_all_of_them():
    assert named(spec("a", "echo"), spec("b", "echo"), spec("b", "search")) == ["a_echo", "b_echo", "search"]


def test_an_own_name_that_is_the_full_name_of_another_is_not_used():
    assert named(spec("a", "b_c"), spec("x", "a_b_c")) == ["b_c", "x_a_b_c"]


def test_a_server_without_a_prefix_keeps_its_names():
    assert named(spec("a", "echo", "echo"), spec("b", "echo")) == ["echo", "b_echo"]


def test_a_name_that_model_apis_refuse_is_not_used():
    assert named(spec("a", "files.read", "a_files_read"), spec("a", "x" * 65, "a_xx")) == ["a_files_read", "a_xx"]


def test_a_name_keeps_its_meaning_when_another_tool_of_that_name_comes():
    names = Names()
    assert named(spec("a", "echo"), names=names) == ["echo"]
    assert named(spec("a", "echo"), spec("b", "echo"), names=names) == ["echo", "b_echo"]
    # Also when the first one is gone.
    assert named(spec("b", "echo"), spec("c", "echo"), names=names) == ["b_echo", "c_echo"]
    assert named(spec("d", "echo"), names=names) == ["d_echo"]
    assert names.meant("echo") == ToolKey("a", "echo")


def test_the_full_name_is_understood_as_well_and_keeps_its_meaning_too():
    names = Names()
    named(spec("a", "echo"), names=names)
    assert names.meant("a_echo") == ToolKey("a", "echo")
    named(spec("b", "echo", "a_echo"), names=names)
    assert names.meant("a_echo") == ToolKey("a", "echo")
    # For which no name is left.
    assert names.of(ToolKey("b", "echo")) is None


@pytest.mark.long
def test_names_are_not_remembered_without_end():
    names = Names()
    names.follow([spec("a", f"t{number}", f"t{number}") for number in range(MOST_NAMES)])
    assert named(spec("b", "new"), names=names) == [None]
    assert names.meant("b_new") is None
    assert names.of(ToolKey("a", "t0")) == "t0"


# Replies


def result(**raw: Any) -> ToolResult:
    return ToolResult(raw, "work", "act", Lane.OPEN, {})


def test_a_result_is_what_the_server_said_and_nothing_of_the_protocol():
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    reply = Reply.of(result(content=[picture], structuredContent={"n": 1}, ttlMs=0, resultType="complete", _meta={}))

    assert reply == {"content": [picture], "structuredContent": {"n": 1}, "isError": False}
    assert reply.text == "n: 1"
    assert json.loads(json.dumps(reply)) == reply


def test_a_result_without_content_has_an_empty_one():
    assert Reply.of(result(structuredContent=[1])) == {"content": [], "structuredContent": [1], "isError": False}


def test_a_failure_is_told_in_words_with_what_the_tool_sent():
    cause = {"message": "locked", "retriable": True}
    reply = Reply.of(ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", "locked", fix="wait", cause=cause))

    assert reply == {
        "content": [{"type": "text", "text": "locked\nwait"}],
        "structuredContent": cause,
        "isError": True,
    }
    assert reply.text == "locked\nwait"
    assert reply.outcome.ok is False


def test_what_is_not_the_tools_own_word_is_not_shown_as_such():
    failure = ToolFailure(FailureKind.PROTOCOL_ERROR, "BSC-404", "odd", cause={"content": "secret"})
    assert "structuredContent" not in Reply.of(failure)


# A gateway's life


def gateway(*servers: ServerConfig, **ids: str) -> MCPToolGateway:
    return MCPToolGateway(servers, **ids)


def test_it_starts_lists_calls_and_closes(tmp_path: Path):
    before, log = children(), tmp_path / "log"
    plain = gateway(obeying(log, a_tool("act", description="Acts.")))
    plain.start()
    plain.start()
    assert plain.list_tools() == [ToolInfo("act", "Acts.", {"type": "object"})]
    assert "hi" in plain.call("act", {"say": "hi"}).text
    assert "hi" in plain.call("work_act", {"say": "hi"}).text
    plain.close()
    plain.close()

    assert children() == before
    assert len(pids(log)) == 1
    assert "gateway" not in [thread.name for thread in threading.enumerate()]


def test_what_is_not_running_says_so(tmp_path: Path):
    plain = gateway(obeying(tmp_path / "log"))
    for ask in (plain.list_tools, lambda: plain.call("act"), lambda: plain.session):
        with pytest.raises(UsageError, match="not running"):
            ask()
    with plain:
        assert plain.list_tools()
    with pytest.raises(UsageError, match="not running"):
        plain.call("act")


def test_a_config_file_and_a_runtime_will_do(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")})
    for source in (path, str(path), Runtime.from_file(path)):
        with MCPToolGateway(source) as plain:
            assert [tool.name for tool in plain.list_tools()] == ["act"]


def test_two_configs_of_one_name_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="same name"):
        gateway(obeying(tmp_path / "a"), obeying(tmp_path / "b"))


def test_a_schema_that_a_program_changes_is_its_own_copy(tmp_path: Path):
    schema = {"properties": {"n": {"type": "integer"}}}
    with gateway(obeying(tmp_path / "log", a_tool("act", schema))) as plain:
        plain.list_tools()[0].input_schema["properties"]["n"]["type"] = "string"
        assert plain.list_tools()[0].input_schema["properties"]["n"]["type"] == "integer"


def test_a_required_server_that_fails_leaves_nothing_and_another_does_not_matter(tmp_path: Path):
    before, log = children(), tmp_path / "log"
    broken = stand_in("broken", "no-such-stand-in")
    with gateway(obeying(log), broken) as plain:
        assert [tool.name for tool in plain.list_tools()] == ["act"]
    plain = gateway(obeying(log), stand_in("broken", "no-such-stand-in", required=True))
    with pytest.raises(ConnectFailed, match="'broken'"):
        plain.start()

    assert children() == before
    plain.close()


def test_closed_and_started_again_it_is_as_private_as_before():
    plain = gateway()
    with plain:
        who = plain.session.principal
        plain.session.add_private_dataset("payroll", DataSensitivity.SECRET)
    with plain:
        assert plain.session.principal == who
        assert plain.session.sensitivity is DataSensitivity.SECRET


def test_who_gives_no_ids_has_an_agent_session_of_this_process():
    assert own_session(1) == own_session(1) != own_session(2)
    with gateway() as plain:
        assert plain.session.principal.user_id == "local"
    with gateway(user_id="alice", session_id="s-1") as plain:
        assert str(plain.session.principal) == "alice/s-1"


def test_it_can_be_closed_while_it_starts(tmp_path: Path):
    before = children()
    plain = gateway(stand_in("work", "mute", tmp_path / "log"))
    starting = in_thread(plain.start)
    waited_for(lambda: children() != before)
    plain.close()

    with pytest.raises(UsageError):
        starting.result(10)
    assert children() == before


def test_several_share_a_runtime_and_the_last_one_closes_it(tmp_path: Path):
    log = tmp_path / "log"
    shared = SyncRuntime(Runtime.from_servers({"work": obeying(log)}))
    first, second = MCPToolGateway(shared), MCPToolGateway(shared)
    first.start()
    second.start()
    calling = in_thread(lambda: first.call("act", {"silent": True}))
    waited_for(lambda: "tools/call" in methods(log))
    first.close()
    with pytest.raises(RunStopped):
        calling.result(10)
    assert second.call("act")["isError"] is False
    assert shared.is_open
    second.close()

    assert not shared.is_open
    assert len(pids(log)) == 1


def test_a_shared_runtime_that_somebody_closed_can_be_started_again(tmp_path: Path):
    shared = SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")}))
    with MCPToolGateway(shared) as plain:
        shared.close()
        with pytest.raises(UsageError, match="not running"):
            plain.call("act")
        plain.start()
        assert plain.call("act")["isError"] is False
    assert not shared.is_open


# Calls that are cut short


def test_a_call_that_is_interrupted_is_cancelled_at_the_server(tmp_path: Path):
    log = tmp_path / "log"
    with gateway(obeying(log)) as plain:
        with pytest.raises(KeyboardInterrupt), interrupted_once(lambda: "tools/call" in methods(log)):
            plain.call("act", {"silent": True})
        waited_for(lambda: "notifications/cancelled" in methods(log))
        assert plain.call("act")["isError"] is False


def test_a_call_under_way_when_it_is_closed_ends_the_run_and_is_cancelled_at_the_server(tmp_path: Path):
    log = tmp_path / "log"
    with gateway(obeying(log)) as plain:
        calling = in_thread(lambda: plain.call("act", {"silent": True}))
        waited_for(lambda: "tools/call" in methods(log))
        plain.close()
        with pytest.raises(RunStopped) as caught:
            calling.result(10)

    assert caught.value.failure.kind is FailureKind.ABORTED
    assert methods(log)[-1] == "notifications/cancelled"


def test_a_call_has_its_own_time_limit(tmp_path: Path):
    with gateway(obeying(tmp_path / "log")) as plain:
        reply = plain.call("act", {"silent": True}, 0.1)

    assert reply["isError"] is True
    assert "0.1 s" in reply.text


def test_progress_is_told(tmp_path: Path):
    told: list[float] = []
    with gateway(obeying(tmp_path / "log")) as plain:
        plain.call("act", {"progress": [1]}, on_progress=lambda progress, _total, _message: told.append(progress))

    assert told == [1]


# Tools that come and go


def become(shared: SyncRuntime, living: Living, *tools: str) -> None:
    shared.run(lambda _: living.become(*tools))


def names_become(plain: MCPToolGateway, *names: str) -> None:
    waited_for(lambda: {tool.name for tool in plain.list_tools()} == {*names})


def test_a_name_does_not_come_to_mean_another_tool_when_tools_come_and_go():
    one, two = Living("echo"), Living("other")
    shared = SyncRuntime(Runtime.from_servers({"one": one.config(name="one"), "two": two.config(name="two")}))
    with MCPToolGateway(shared) as plain:
        assert plain.call("echo").outcome.server == "one"
        become(shared, two, "other", "echo")
        names_become(plain, "echo", "other", "two_echo")
        assert plain.call("echo").outcome.server == "one"
        assert plain.call("two_echo").outcome.server == "two"

        become(shared, one)
        names_become(plain, "other", "two_echo")
        gone = plain.call("echo")
        assert gone["isError"] is True
        assert "removed" in gone.text

        become(shared, one, "echo")
        names_become(plain, "echo", "other", "two_echo")
        assert plain.call("echo").outcome.server == "one"


def test_a_tool_that_came_after_the_last_listing_can_be_called():
    living = Living("echo")
    shared = SyncRuntime(Runtime.from_servers({"work": living.config()}))
    with MCPToolGateway(shared) as plain:
        become(shared, living, "echo", "later")
        waited_for(lambda: plain.call("later")["isError"] is False)


def test_a_full_name_that_has_become_another_tools_is_not_called():
    """`a.b` is called `work_a_b` until there is a tool `a_b`, which has more right to it."""
    living = Living("a.b")
    shared = SyncRuntime(Runtime.from_servers({"work": living.config()}))
    with MCPToolGateway(shared) as plain:
        assert [tool.name for tool in plain.list_tools()] == ["work_a_b"]
        assert plain.call("work_a_b").outcome.tool == "a.b"
        become(shared, living, "a.b", "a_b")
        waited_for(lambda: len(plain.list_tools()) == 2)
        assert [plain.call(name).outcome.tool for name in ("work_a_b", "a_b")] == ["a.b", "a_b"]


def test_what_a_name_means_is_looked_up_again_whenever_tools_have_changed():
    living = Living("a.b")
    shared = SyncRuntime(Runtime.from_servers({"work": living.config()}))
    with MCPToolGateway(shared) as plain:
        assert plain.call("work_a_b").outcome.tool == "a.b"
        become(shared, living, "a.b", "a_b")
        # Seen by the agent session, and not by the gateway.
        waited_for(lambda: len(plain.session.tools()) == 2)
        assert plain.call("work_a_b").outcome.tool == "a.b"


def test_what_a_name_means_is_looked_up_again_after_a_new_start():
    living = Living("a.b")
    plain = gateway(living.config())
    for tools in (("a.b",), ("a.b", "a_b")):
        living.tools = dict.fromkeys(tools, "Does as told.")
        with plain:
            assert plain.call("work_a_b").outcome.tool == "a.b"


def test_the_full_name_of_a_tool_that_went_as_another_came_is_not_called():
    living = Living("a.b")
    shared = SyncRuntime(Runtime.from_servers({"work": living.config()}))
    with MCPToolGateway(shared) as plain:
        become(shared, living, "a_b")
        names_become(plain, "a_b")
        gone = plain.call("work_a_b")
        assert gone["isError"] is True
        assert "work/a.b" in gone.text


def test_a_thousand_tools_are_listed_too(tmp_path: Path):
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([a_tool(f"tool_{number}", {"properties": {"n": {}}}) for number in range(1_000)]))
    with gateway(stand_in("work", "obeying", tmp_path / "log", f"@{tools}")) as plain:
        listed = plain.list_tools()

    assert len(listed) == 1_000
