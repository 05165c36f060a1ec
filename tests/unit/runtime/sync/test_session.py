import threading
from pathlib import Path

import pytest

from bascule.core.errors import UsageError
from bascule.core.events import ToolInvoked
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import SyncRuntime
from support.offers import offering
from support.runtime import Events, bad, good, obeying, well
from support.servers import methods
from support.threads import interrupted_once, waited_for


def test_a_tool_is_listed_and_called(tmp_path: Path):
    with SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")})) as shared:
        session = shared.session("alice", "s-1")
        assert [report.name for report in session.connect()] == ["work"]
        assert [spec.name for spec in session.tools()] == ["work_act"]
        assert session.offered() == session.tools()
        assert "well" in good(session.call("work_act", {"word": "well"})).text
        assert session.servers()[0].tools == 1
        assert session.principal == Principal("alice", "s-1")


def test_a_failure_is_an_outcome(tmp_path: Path):
    with SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")})) as shared:
        session = shared.session("alice", "s-1")
        bad(session.call("nothing_there"), FailureKind.UNKNOWN_TOOL)
        bad(session.call("work_act", {"silent": True}, timeout=0.1), FailureKind.TIMEOUT)
        bad(session.read("file:///nowhere"), FailureKind.UNKNOWN_TOOL)
        bad(session.prompt("nothing_there"), FailureKind.UNKNOWN_TOOL)


def test_progress_is_told_while_the_caller_waits(tmp_path: Path):
    told: list[tuple[float, str]] = []

    def hear(progress: float, _total: float | None, _message: str | None) -> None:
        told.append((progress, threading.current_thread().name))

    with SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")}), name="its own") as shared:
        good(shared.session("alice", "s-1").call("work_act", {"progress": [1, 2]}, on_progress=hear))

    # The first may be overtaken by the last.
    assert told[-1] == (2, "its own")


def test_resources_and_prompts_are_listed_and_used(tmp_path: Path):
    offers = offering(tmp_path, uris=("note://a",), prompts=({"name": "greet", "arguments": [{"name": "who"}]},))
    with SyncRuntime(Runtime.from_servers({"work": offers})) as shared:
        session = shared.session("alice", "s-1")
        (resource,), (prompt,) = session.resources(), session.prompts()
        assert session.resources(refresh=True) == (resource,)
        assert well(session.read(resource.address)).contents
        assert well(session.prompt(prompt.name)).messages
        assert well(session.complete(prompt, "who", "o")).values == ("one", "two")


def test_the_level_the_lane_and_the_receipts_are_those_of_the_agent_session():
    with SyncRuntime(Runtime.from_servers({})) as shared:
        session = shared.session("alice", "s-1")
        assert (session.sensitivity, session.lane, session.ended) == (DataSensitivity.PUBLIC, Lane.OPEN, False)
        session.add_private_dataset("payroll", DataSensitivity.SECRET)
        assert (session.sensitivity, session.lane) == (DataSensitivity.SECRET, Lane.SEALED)
        assert session.datasets == {"payroll": DataSensitivity.SECRET}
        assert len(session.receipts) == 1
        assert shared.session("alice", "s-1").sensitivity is DataSensitivity.SECRET
        assert shared.session("bob", "s-1").sensitivity is DataSensitivity.PUBLIC


def test_closing_the_session_closes_its_links_and_the_next_call_opens_new_ones(tmp_path: Path):
    with SyncRuntime(Runtime.from_servers({"work": obeying(tmp_path / "log")})) as shared:
        session = shared.session("alice", "s-1")
        first = good(session.call("work_act", {"pid": True})).text
        session.close()
        assert good(session.call("work_act", {"pid": True})).text != first


def test_whoever_is_interrupted_while_they_wait_has_the_call_cancelled_at_the_server(tmp_path: Path):
    log, events = tmp_path / "log", Events()
    runtime = Runtime.from_servers({"work": obeying(log)}, sinks=[events.append])
    with SyncRuntime(runtime) as shared:
        session = shared.session("alice", "s-1")
        assert session.tools()

        with pytest.raises(KeyboardInterrupt), interrupted_once(lambda: "tools/call" in methods(log)):
            session.call("work_act", {"silent": True})
        waited_for(lambda: "notifications/cancelled" in methods(log))
        good(session.call("work_act"))
    first = next(event for event in events if isinstance(event, ToolInvoked))
    bad(first.outcome, FailureKind.ABORTED)


def test_ids_are_checked_at_once():
    with pytest.raises(UsageError, match="user_id"):
        SyncRuntime(Runtime.from_servers({})).session("", "s-1")
