import asyncio
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, UsageError
from bascule.runtime.runtime import Runtime
from bascule.runtime.stay import Stay
from support.children import children
from support.processes import ended
from support.runtime import obeying, stand_in
from support.servers import argv, methods, pids
from support.threads import in_thread, waited_for
from support.waiting import fail_after


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def staying(log: Path) -> Stay:
    return Stay(Runtime.from_servers({"work": obeying(log)}), "staying")


def test_work_is_done_with_a_runtime_that_runs_in_a_thread_of_its_own(tmp_path: Path):
    before, log = children(), tmp_path / "log"
    stay = staying(log)
    stay.begin()
    outcome = stay.run(lambda runtime: runtime.session("alice", "s-1").call("work_act", {}))
    assert outcome.ok
    assert "staying" in threads()
    stay.end()
    stay.end()

    assert stay.ended
    assert children() == before
    assert "staying" not in threads()


def test_of_a_runtime_that_cannot_be_entered_nothing_is_left(tmp_path: Path):
    before = children()
    stay = Stay(Runtime.from_servers({"work": stand_in("work", "deaf-to-all", required=True)}), "staying")
    with pytest.raises(ConnectFailed):
        stay.begin()

    assert stay.ended
    assert children() == before
    assert "staying" not in threads()
    stay.end()


def test_one_that_is_still_beginning_can_be_ended(tmp_path: Path):
    before, log = children(), tmp_path / "log"
    # Started, it never says a word.
    silent = stand_in("work", "mute", log, required=True)
    stay = Stay(Runtime.from_servers({"work": silent}), "staying")
    beginning = in_thread(stay.begin)
    waited_for(lambda: children() != before)
    stay.end()

    with pytest.raises(UsageError, match="before it was open"):
        beginning.result(10)
    assert children() == before
    assert "staying" not in threads()


def test_what_is_being_done_is_cancelled_before_the_links_close(tmp_path: Path):
    log = tmp_path / "log"
    stay = staying(log)
    stay.begin()
    calling = in_thread(
        lambda: stay.run(lambda runtime: runtime.session("alice", "s-1").call("work_act", {"silent": True}))
    )
    waited_for(lambda: "tools/call" in methods(log))
    stay.end()

    with pytest.raises(UsageError):
        calling.result(10)
    assert methods(log)[-1] == "notifications/cancelled"


def test_nothing_is_begun_once_it_is_ending(tmp_path: Path):
    stay = staying(tmp_path / "log")
    stay.begin()
    stay.end()
    with pytest.raises(UsageError, match="closed"):
        stay.run(lambda runtime: runtime.session("alice", "s-1").tools())


def test_several_may_end_it_at_once(tmp_path: Path):
    stay = staying(tmp_path / "log")
    stay.begin()
    ending = [in_thread(stay.end) for _ in range(5)]
    for one in ending:
        one.result(10)

    assert stay.ended


def test_what_goes_wrong_with_leaving_is_told_and_the_thread_has_ended():
    class Stuck(Runtime):
        async def close(self) -> None:
            await super().close()
            raise OSError("the disk is full")

    stay = Stay(Stuck.from_servers({}), "staying")
    stay.begin()
    with pytest.raises(OSError, match="disk is full"):
        stay.end()

    assert "staying" not in threads()
    stay.end()


PROGRAM = """
    import sys, threading
    from bascule.config import ServerConfig, StdioTransport
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.stay import Stay

    command, *args = sys.argv[1:]
    server = ServerConfig(name="work", transport=StdioTransport(command=command, args=tuple(args)))
    stay = Stay(Runtime.from_servers({"work": server}), "staying")
    stay.begin()
    call = lambda given: stay.run(lambda runtime: runtime.session("alice", "s-1").call("work_act", given))
    print(call({"pid": True}).text, flush=True)
"""


def program(log: Path, more: str = "") -> "subprocess.Popen[str]":
    text = textwrap.dedent(PROGRAM) + textwrap.dedent(more)
    return subprocess.Popen(
        [sys.executable, "-c", text, *argv("obeying", log)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_a_program_that_ends_without_ending_it_leaves_nothing_and_says_nothing(tmp_path: Path):
    log = tmp_path / "log"
    running = program(log)
    out, err = await asyncio.to_thread(running.communicate, timeout=30)
    (server,) = pids(log)
    async with fail_after(10):
        await ended(server)

    assert (running.returncode, out.strip(), err) == (0, str(server), "")


async def test_a_program_that_ends_while_another_thread_calls_does_not_wait_for_the_answer(tmp_path: Path):
    log = tmp_path / "log"
    calling = """
        def endless():
            try:
                call({"silent": True})
            except Exception as error:
                print(error, flush=True)
        from pathlib import Path
        threading.Thread(target=endless).start()
        while "silent" not in Path(args[-1]).read_text():
            pass
    """
    running = program(log, calling)
    out, err = await asyncio.to_thread(running.communicate, timeout=30)
    async with fail_after(10):
        await ended(pids(log)[0])

    assert (running.returncode, err) == (0, "")
    assert "closed before this was done" in out
    assert methods(log)[-1] == "notifications/cancelled"


async def test_a_process_that_was_forked_off_neither_hangs_at_its_end_nor_ends_what_is_its_parents(tmp_path: Path):
    log = tmp_path / "log"
    forking = """
        import os
        child = os.fork()
        if not child:
            stay.end()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(call({"pid": True}).text, flush=True)
    """
    running = program(log, forking)
    out, _ = await asyncio.to_thread(running.communicate, timeout=30)
    async with fail_after(10):
        await ended(pids(log)[0])

    assert running.returncode == 0
    assert len(set(out.split())) == 1
