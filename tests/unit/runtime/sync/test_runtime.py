import threading
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, StoreError, UsageError
from bascule.core.outcome import FailureKind
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.runtime import SyncRuntime
from support.children import children
from support.runtime import bad, good, obeying, stand_in
from support.servers import methods, pids
from support.threads import in_thread, interrupted_once, waited_for


def shared_by_all(log: Path) -> SyncRuntime:
    return SyncRuntime(Runtime.from_servers({"work": obeying(log)}), name="shared")


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_a_block_has_it_run(tmp_path: Path):
    before = children()
    with shared_by_all(tmp_path / "log") as shared:
        assert shared.is_open
        good(shared.session("alice", "s-1").call("work_act", {}))

    assert not shared.is_open
    assert children() == before
    assert "shared" not in threads()


def test_it_runs_from_the_first_who_holds_it_to_the_last(tmp_path: Path):
    log = tmp_path / "log"
    shared = shared_by_all(log)
    first, second = shared.acquire(), shared.acquire()
    assert threads().count("shared") == 1
    session = shared.session("alice", "s-1")
    good(session.call("work_act", {}))
    first.release()
    good(session.call("work_act", {}))
    assert first.closing
    assert not second.closing
    second.release()

    assert not shared.is_open
    assert len(pids(log)) == 1


def test_releasing_twice_takes_it_from_nobody_else(tmp_path: Path):
    shared = shared_by_all(tmp_path / "log")
    with shared.acquire() as first, shared.acquire():
        first.release()
        first.release()
        assert shared.is_open
    assert not shared.is_open


def test_it_can_be_had_again_and_old_sessions_go_on(tmp_path: Path):
    log = tmp_path / "log"
    shared = shared_by_all(log)
    session = shared.session("alice", "s-1")
    for _ in range(2):
        with shared:
            good(session.call("work_act", {}))

    assert len(set(pids(log))) == 2


def test_without_anybody_holding_it_nothing_is_done(tmp_path: Path):
    with pytest.raises(UsageError, match="not open"):
        shared_by_all(tmp_path / "log").session("alice", "s-1").call("work_act", {})


def test_closing_ends_it_for_all_who_hold_it_and_again_does_nothing(tmp_path: Path):
    shared = shared_by_all(tmp_path / "log")
    first, second = shared.acquire(), shared.acquire()
    shared.close()
    shared.close()
    assert first.closing
    assert second.closing
    first.release()

    with shared:
        # The one of another stay.
        second.release()
        assert shared.is_open


def test_a_failed_start_leaves_nothing_and_can_be_tried_again(tmp_path: Path):
    before, log = children(), tmp_path / "log"
    runtime = Runtime.from_servers({"work": stand_in("work", "no-such-stand-in", required=True)})
    shared = SyncRuntime(runtime, name="shared")
    for _ in range(2):
        with pytest.raises(ConnectFailed):
            shared.acquire()
    shared.close()

    assert not shared.is_open
    assert children() == before
    assert "shared" not in threads()
    assert not log.exists()


def test_many_threads_share_it(tmp_path: Path):
    log = tmp_path / "log"
    shared = shared_by_all(log)

    def use() -> None:
        with shared.acquire():
            for _ in range(5):
                good(shared.session("alice", "s-1").call("work_act", {}))

    with shared:
        for using in [in_thread(use) for _ in range(8)]:
            using.result(20)

    assert len(pids(log)) == 1
    assert not shared.is_open


def test_many_come_and_go_and_it_is_open_whenever_somebody_holds_it(tmp_path: Path):
    shared = SyncRuntime(Runtime.from_servers({}), name="shared")

    def use() -> None:
        for _ in range(5):
            with shared.acquire():
                assert shared.session("alice", "s-1").tools() == ()

    for using in [in_thread(use) for _ in range(6)]:
        using.result(30)

    assert not shared.is_open
    assert "shared" not in threads()


def test_a_call_under_way_when_it_closes_is_cancelled_at_the_server_and_ends_as_aborted(tmp_path: Path):
    log = tmp_path / "log"
    with shared_by_all(log) as shared:
        calling = in_thread(lambda: shared.session("alice", "s-1").call("work_act", {"silent": True}))
        waited_for(lambda: "tools/call" in methods(log))
        shared.close()

        failure = bad(calling.result(10), FailureKind.ABORTED)
        assert failure.code == "BSC-703"
        assert "closed" in failure.message
    assert methods(log)[-1] == "notifications/cancelled"


def test_it_can_be_closed_while_it_opens(tmp_path: Path):
    before = children()
    silent = stand_in("work", "mute", tmp_path / "log", required=True)
    shared = SyncRuntime(Runtime.from_servers({"work": silent}), name="shared")
    opening = in_thread(shared.acquire)
    waited_for(lambda: children() != before)
    shared.close()

    with pytest.raises(UsageError, match="before it was open"):
        opening.result(10)
    assert children() == before
    assert "shared" not in threads()


def test_its_own_thread_can_neither_open_nor_close_it(tmp_path: Path):
    problems: list[str] = []

    def closing(*_: object) -> None:
        for act in (shared.close, shared.acquire, hold.release, lambda: shared.session("a", "b").tools()):
            with pytest.raises(UsageError) as caught:
                act()
            problems.append(caught.value.message)

    shared = shared_by_all(tmp_path / "log")
    with shared.acquire() as hold:
        good(shared.session("alice", "s-1").call("work_act", {"progress": [1]}, on_progress=closing))

    assert len(problems) == 4
    assert all("its own" in problem for problem in problems)


def test_anything_else_is_done_with_the_runtime_itself(tmp_path: Path):
    async def named(runtime: Runtime) -> list[str]:
        return list(runtime.config.servers)

    with shared_by_all(tmp_path / "log") as shared:
        assert shared.run(named) == ["work"]
        assert list(shared.runtime.config.servers) == ["work"]


def test_what_is_done_through_a_hold_ends_with_it_and_others_go_on(tmp_path: Path):
    log = tmp_path / "log"
    with shared_by_all(log) as shared:
        hold = shared.acquire()
        calling = in_thread(lambda: hold.session("alice", "s-1").call("work_act", {"silent": True}))
        waited_for(lambda: "tools/call" in methods(log))
        hold.release()

        bad(calling.result(10), FailureKind.ABORTED)
        waited_for(lambda: "notifications/cancelled" in methods(log))
        good(shared.session("alice", "s-1").call("work_act", {}))
        with pytest.raises(UsageError, match="released"):
            hold.session("alice", "s-1").tools()
    assert len(pids(log)) == 1


def test_whoever_is_interrupted_while_it_opens_leaves_nothing(tmp_path: Path):
    before = children()
    silent = stand_in("work", "mute", tmp_path / "log", required=True)
    shared = SyncRuntime(Runtime.from_servers({"work": silent}), name="shared")
    with pytest.raises(KeyboardInterrupt), interrupted_once(lambda: children() != before):
        shared.acquire()

    assert children() == before
    assert "shared" not in threads()


def test_what_kept_it_from_opening_can_be_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "file"))
    shared = SyncRuntime(Runtime.from_servers({}))
    for _ in range(2):
        with pytest.raises(StoreError):
            shared.acquire()
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "folder"))
    with shared:
        assert shared.session("alice", "s-1").tools() == ()
