"""Subprocess runner: process groups, timeouts, cancellation, limits of the output."""

import os
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bascule.core.errors import UsageError
from bascule.kit.sandbox_server import shell as module
from bascule.kit.sandbox_server.shell import KEPT, Ran, Shell, Ticket
from support.waiting import until

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def shell() -> Generator[Shell]:
    made = Shell(4)
    yield made
    made.close()


def ran(shell: Shell, line: str, folder: Path, timeout: float = 20.0, ticket: Ticket | None = None) -> Ran:
    return shell.run(["sh", "-c", line], str(folder), ENV, timeout, ticket or Ticket())


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_it_gives_the_exit_code_and_both_streams(shell: Shell, tmp_path: Path):
    assert ran(shell, "echo out; echo err >&2; pwd; exit 3", tmp_path) == Ran(3, f"out\n{tmp_path}\n", "err\n")
    assert ran(shell, "kill -TERM $$", tmp_path).exit_code == -15


def test_an_argument_is_one_argument_whatever_is_in_it(shell: Shell, tmp_path: Path):
    program = [sys.executable, "-c", "import sys; print(sys.argv[1:])", "$HOME; rm -rf /", "a b"]
    assert shell.run(program, str(tmp_path), ENV, 20, Ticket()).stdout == "['$HOME; rm -rf /', 'a b']\n"


def test_it_has_the_environment_it_is_given_and_nothing_to_read(shell: Shell, tmp_path: Path):
    assert ran(shell, "cat; echo $PATH; echo $BASCULE_HOME", tmp_path).stdout == f"{ENV['PATH']}\n\n"


@pytest.mark.parametrize(
    "line", ["sleep 300", "trap '' TERM INT HUP; sleep 300 & sleep 300", "sh -c 'sleep 300' | cat"]
)
async def test_what_takes_too_long_is_ended_with_all_that_it_started(shell: Shell, tmp_path: Path, line: str):
    """Each of them writes down its number first."""
    asked = f"echo $$ >> pids; {line.replace('sleep 300', '(echo $$ >> pids; exec sleep 300)')}"
    result = ran(shell, asked, tmp_path, timeout=0.5)

    assert (result.exit_code, result.timed_out) == (None, True)
    pids = {int(pid) for pid in (tmp_path / "pids").read_text().split()}
    await until(lambda: not any(map(is_there, pids)))


async def test_what_is_left_running_is_ended_with_the_command(shell: Shell, tmp_path: Path):
    result = ran(shell, "sleep 300 & echo $!", tmp_path)

    assert (result.exit_code, result.timed_out) == (0, False)
    await until(lambda: not is_there(int(result.stdout)))


async def test_who_leaves_the_group_holds_nobody_up(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LINGER", 0.1)
    result = ran(shell, "setsid sh -c 'echo $$ > pid; exec sleep 300' & while ! [ -s pid ]; do :; done", tmp_path)

    pid = int((tmp_path / "pid").read_text())
    try:
        assert result.exit_code == 0
        assert is_there(pid)
    finally:
        os.kill(pid, 9)


async def test_it_can_be_called_off(shell: Shell, tmp_path: Path):
    ticket = Ticket()
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(ran, shell, "echo $$ > pid; sleep 300", tmp_path, ticket=ticket)
        await until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        shell.cancel(ticket)
        assert under_way.result(20).exit_code is None
    with pytest.raises(UsageError, match="called off"):
        ran(shell, "touch never", tmp_path, ticket=ticket)
    assert not (tmp_path / "never").exists()


async def test_closed_it_ends_all_and_begins_none(shell: Shell, tmp_path: Path):
    with ThreadPoolExecutor(3) as pool:
        for number in range(3):
            pool.submit(ran, shell, f"touch {number}; sleep 300", tmp_path)
        await until(lambda: len([*tmp_path.iterdir()]) == 3)
        shell.close()
    with pytest.raises(UsageError):
        ran(shell, "true", tmp_path)


async def test_no_more_run_at_once_than_may(shell: Shell, tmp_path: Path):
    with ThreadPoolExecutor(4) as pool:
        for number in range(4):
            pool.submit(ran, shell, f"touch {number}; sleep 300", tmp_path)
        await until(lambda: len([*tmp_path.iterdir()]) == 4)
        with pytest.raises(UsageError, match="4 commands run already"):
            ran(shell, "true", tmp_path)
        shell.close()


def test_of_much_the_beginning_and_the_end_are_kept(shell: Shell, tmp_path: Path):
    result = ran(shell, "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo last; echo err >&2", tmp_path)

    assert result.stdout.startswith("first\nxxx")
    assert result.stdout.endswith("xxxlast\n")
    assert result.omitted == 50_000_000 + 11 - KEPT
    assert f"… {result.omitted} bytes are left out …" in result.stdout
    assert len(result.stdout) < KEPT + 100
    assert result.stderr == "err\n"


def test_what_just_fits_is_whole(shell: Shell, tmp_path: Path):
    result = ran(shell, f"head -c {KEPT} /dev/zero | tr '\\0' x", tmp_path)
    assert (len(result.stdout), result.omitted) == (KEPT, 0)


def test_bytes_that_are_no_text_are_shown_as_marks(shell: Shell, tmp_path: Path):
    assert ran(shell, "printf 'a\\377b'", tmp_path).stdout == "a\ufffdb"


@pytest.mark.parametrize("argv", [["no-such-program"], ["."], ["a\0b"], ["\ud800"]])
def test_what_cannot_be_run_is_said(shell: Shell, tmp_path: Path, argv: list[str]):
    with pytest.raises(UsageError, match="cannot be run"):
        shell.run(argv, str(tmp_path), ENV, 5, Ticket())
