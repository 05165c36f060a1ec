import asyncio
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed, UsageError
from bascule.runtime.runtime import Runtime
from bascule.runtime.sync.background_runtime import Stay
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
    from bascule.runtime.sync.background_runtime import Stay

    command, *args = sys.argv[1:]
    server = ServerConfig(name="work", transport=StdioTransport(command=command, args=tuple(args)))
    stay = Stay(Runtime.from_servers({"work": server}), "staying")
    stay.begin()
    call = lambda given: stay.run(lambda runtime: runtime.session("alice", "s-1").call("work_act", given))
    print(call({"pid": True}).text, flush=True)
"""


async def program(log: Path, more: str = "") -> tuple[int | None, str, str]:
    """Run it with a server that writes to the log, to its end."""
    text = textwrap.dedent(PROGRAM) + textwrap.dedent(more)
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", text, *argv("obeying", log)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with fail_after(40, "the program"):
            out, err = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    return running.returncode, out.decode(), err.decode()


@pytest.mark.long
async def test_a_program_that_ends_without_ending_it_leaves_nothing_and_says_nothing(tmp_path: Path):
    log = tmp_path / "log"
    code, out, err = await program(log)
    (server,) = pids(log)
    async with fail_after(10):
        await ended(server)

    assert (code, out.strip(), err) == (0, str(server), "")


@pytest.mark.long
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
    code, out, err = await program(log, calling)
    async with fail_after(10):
        await ended(pids(log)[0])

    assert (code, err) == (0, "")
    assert "closed before this was done" in out
    assert methods(log)[-1] == "notifications/cancelled"


@pytest.mark.long
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
    code, out, _ = await program(log, forking)
    async with fail_after(10):
        await ended(pids(log)[0])

    assert code == 0
    assert len(set(out.split())) == 1


async def test_a_runtime_that_runs_elsewhere_is_left_alone(tmp_path: Path):
    async with fail_after(20), Runtime.from_servers({"work": obeying(tmp_path / "log")}) as runtime:
        with pytest.raises(UsageError, match="running already"):
            Stay(runtime, "staying").begin()
        assert await runtime.session("alice", "s-1").tools()


@pytest.mark.long
async def test_a_process_that_was_forked_off_while_another_thread_ended_it_does_not_wait_for_that_thread(
    tmp_path: Path,
):
    forking = """
        import os, signal
        ending, done = threading.Event(), threading.Event()
        def slow_to_end():
            with stay._turn:
                ending.set()
                done.wait(30)
        threading.Thread(target=slow_to_end).start()
        ending.wait()
        child = os.fork()
        if not child:
            signal.alarm(10)
            sys.exit(0)
        status = os.waitpid(child, 0)[1]
        done.set()
        assert status == 0, status
    """
    code, _, err = await program(tmp_path / "log", forking)

    assert code == 0, err
