"""What takes longer than a second says what it waits for, to a person at a terminal and to nobody else."""

import signal
from pathlib import Path

import pytest

from support.command import started
from support.scenarios import entry, write_mcp_json, write_yaml
from support.terminal import at_a_terminal
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-2")

AS_ADA = ("--user", "ada", "--session", "s-1")


@pytest.mark.parametrize("words", [("list",), ("doctor",), ("stubs",), ("inspect", "slow"), ("call", "slow_x")])
async def test_a_server_that_does_not_answer_is_named_until_the_command_ends(tmp_path: Path, words: tuple[str, ...]):
    write_mcp_json(tmp_path, {"slow": entry("mute", "waiting")})
    async with at_a_terminal(tmp_path, *words, *AS_ADA) as terminal:
        await terminal.until("slow: starting 1 s")
        await terminal.until("slow: starting 2 s")
        terminal.process.send_signal(signal.SIGINT)
        code, _ = await terminal.end()
        await terminal.until("aborted")

    assert code == 130
    assert terminal.shown.endswith("\r\x1b[2Kaborted\r\n")


async def test_a_tools_own_progress_is_shown_while_it_runs(tmp_path: Path):
    write_mcp_json(tmp_path, {"work": entry("obeying", tmp_path / "log")})
    words = ("call", "work_act", "progress:=[1, 7]", "silent:=true", "--timeout", "30")
    async with at_a_terminal(tmp_path, *words, *AS_ADA) as terminal:
        await terminal.until("work_act: 7 ")
        terminal.process.send_signal(signal.SIGINT)
        await terminal.end()


@pytest.mark.parametrize("columns", [40, 60])
async def test_the_line_never_wraps(tmp_path: Path, columns: int):
    write_mcp_json(tmp_path, {f"a-server-with-a-name-{n}": entry("mute", "waiting") for n in range(4)})
    async with at_a_terminal(tmp_path, "list", *AS_ADA, columns=columns) as terminal:
        await terminal.until("…")
        terminal.process.send_signal(signal.SIGINT)
        await terminal.end()

    drawn = terminal.shown.split("\r\x1b[2K")[1:-1]
    assert drawn
    assert max(map(len, drawn)) < columns


async def test_with_json_a_person_is_shown_nothing(tmp_path: Path):
    write_yaml(tmp_path, {"slow": entry("mute", "waiting", timeouts={"connect": 2})})
    async with at_a_terminal(tmp_path, "list", "--json", *AS_ADA) as terminal:
        await terminal.end()
    assert "\x1b" not in terminal.shown


async def test_without_a_terminal_nothing_is_drawn(tmp_path: Path):
    write_yaml(tmp_path, {"slow": entry("mute", "waiting", timeouts={"connect": 2})})
    async with fail_after(60), started(tmp_path, "list", *AS_ADA) as process:
        out, err = await process.communicate()
    assert b"\x1b" not in out + err
