"""`bascule approve`: the review on the terminal, and the question for approval."""

import argparse
import asyncio
import os
import pty
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.approval import Proposal
from bascule.catalog.pinning.lock import Lock
from bascule.cli.commands.approve import Review, agrees, as_shape, chosen, show
from bascule.cli.parser.command_table import build_parser
from bascule.config import RuntimeConfig, ServerConfig, StdioTransport
from bascule.core.errors import ConnectFailed, UsageError
from bascule.core.finding import Finding, FindingKind
from bascule.core.tool import ToolKey
from support.command import BASCULE, bascule, environment
from support.locks import RICH, approved, lock_in, locked_tools
from support.scenarios import entry, write_yaml
from support.waiting import fail_after

CHANGED = {**RICH, "title": "Other"}
FOUND = (Finding(FindingKind.CONTROL, "title", "U+001B"),)
CHANGE = Proposal(ToolKey("work", "act"), approved(RICH)["act"], approved(CHANGED)["act"], FOUND)
CONFIG = RuntimeConfig(servers={name: ServerConfig(name, StdioTransport("x")) for name in ("a", "b")})
CTRL_C = b"\x03"
LOCK = Lock({"b": {}, "elsewhere": {}})


def options(*names: str, **given: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"names": list(names), "all": False, "yes": False, "json": False, **given})


def test_without_a_name_the_locked_servers_are_meant():
    assert chosen(options(), CONFIG, LOCK) == {"b": None}
    assert chosen(options(all=True), CONFIG, LOCK) == {"a": None, "b": None}
    with pytest.raises(UsageError, match="no server of this config is in it"):
        chosen(options(), CONFIG, Lock())


def test_a_name_is_a_servers_or_a_tools():
    assert chosen(options("a/x", "b", "a/y/z"), CONFIG, LOCK) == {"a": {"x", "y/z"}, "b": None}
    assert chosen(options("a/x", "a"), CONFIG, LOCK) == chosen(options("a", "a/x"), CONFIG, LOCK) == {"a": None}
    with pytest.raises(UsageError, match="no server is called 'c'"):
        chosen(options("c"), CONFIG, LOCK)


@pytest.mark.parametrize(
    ("typed", "agreed"), [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_only_a_yes_is_a_yes(typed: str, agreed: bool):
    written = StringIO()
    assert agrees("approve it?", StringIO(typed), written) is agreed
    assert written.getvalue().endswith("approve it? [y/N] ")


def test_a_change_is_shown_with_its_difference_and_what_was_found():
    written = StringIO()
    show([Review("work", True, (CHANGE,))], written)
    assert written.getvalue().splitlines()[1:] == [
        "work (locked): 1 to approve",
        "  ~ work/act (changed)",
        '      ~ title: "Act" → "Other"',
        "    ! control in title: U+001B",
    ]


def test_what_locking_a_server_keeps_back_is_said_before():
    written = StringIO()
    show([Review("work", False, (CHANGE,), others=3), Review("gone", True, error=ConnectFailed("it is down"))], written)
    assert "its other 3 tools are kept from agents once it is locked" in written.getvalue()
    assert "gone: cannot be reached, it stays in the lock as it is" in written.getvalue()


def test_what_waits_is_not_well():
    shape = as_shape([Review("work", True, (CHANGE,)), Review("other", True)], "x")
    assert (shape["ok"], [server["waits"] for server in shape["servers"]]) == (False, [True, False])
    shape = as_shape([Review("work", True, (CHANGE,), approved=True)], "x")
    assert (shape["ok"], shape["servers"][0]["approved"]) == (True, True)
    assert not as_shape([Review("gone", True, error=ConnectFailed("x"))], "x")["ok"]


def configured(folder: Path, **catalog: str) -> None:
    tools = '[{"name": "act"}, {"name": "more"}]'
    server = entry("obeying", folder / "log", tools, timeouts={"close": 1})
    write_yaml(folder, {"work": server}, **({"catalog": catalog} if catalog else {}))


async def at_a_terminal(folder: Path, typed: bytes, *argv: str) -> tuple[int, str]:
    """Run the command as a person does, who types this once they are asked."""
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read(until: bytes | None) -> None:
        while until is None or until not in shown:
            try:
                shown.extend(os.read(ours, 65536))
            except OSError:
                return

    process = await asyncio.create_subprocess_exec(
        BASCULE, *argv, cwd=folder, env=environment(folder), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    try:
        async with fail_after(60, "the command"):
            await asyncio.to_thread(read, b"[y/N] ")
            os.write(ours, typed)
            if typed == CTRL_C:
                # The terminal would send it, if it were the one that the command was started at.
                process.send_signal(signal.SIGINT)
            await asyncio.to_thread(read, None)
            code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)
    return code, shown.decode()


@pytest.mark.long
async def test_at_a_terminal_a_person_is_asked(tmp_path: Path):
    configured(tmp_path)
    code, shown = await at_a_terminal(tmp_path, b"n\n", "approve", "work")
    assert (code, "approve these 2 of work? [y/N]" in shown) == (4, True)
    assert "--yes" not in shown
    assert not (tmp_path / "bascule.lock").exists()
    code, shown = await at_a_terminal(tmp_path, b"y\n", "approve", "work/act")
    assert code == 0
    assert "its other 1 tools are kept from agents" in shown
    assert locked_tools(tmp_path).keys() == {"act"}


@pytest.mark.long
async def test_a_pipe_that_says_yes_is_no_person(tmp_path: Path):
    configured(tmp_path)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        BASCULE, "approve", "work", cwd=tmp_path, env=environment(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        async with fail_after(60, "the command"):
            _, told = await process.communicate(b"y\ny\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, b"--yes" in told) == (2, True)
    assert not (tmp_path / "bascule.lock").exists()


async def test_ctrl_c_ends_the_question_at_once(tmp_path: Path):
    configured(tmp_path)
    code, shown = await at_a_terminal(tmp_path, CTRL_C, "approve", "work")
    assert (code, "aborted" in shown) == (130, True)
    assert not (tmp_path / "bascule.lock").exists()


async def test_a_tool_nobody_lists_is_the_callers_mistake(tmp_path: Path):
    configured(tmp_path)
    ran = await bascule(tmp_path, "approve", "work/nothing", "--yes")
    assert (ran.code, "work has no tool 'nothing'" in ran.err) == (2, True)


async def test_what_is_approved_where_the_lock_is_off_is_kept_and_said(tmp_path: Path):
    configured(tmp_path, lock="off")
    lock_in(tmp_path, work=(RICH,), elsewhere=(RICH,))
    ran = await bascule(tmp_path, "approve", "work", "--yes")
    assert (ran.code, "`catalog.lock` is off" in ran.err) == (0, True)
    assert locked_tools(tmp_path).keys() == {"act", "more"}
    assert locked_tools(tmp_path, "elsewhere") == {"act": RICH}


def test_approving_takes_any_number_of_names():
    options = build_parser().parse_args(["approve", "files", "web/fetch", "--yes"])
    assert (options.names, options.all, options.yes) == (["files", "web/fetch"], False, True)
    assert build_parser().parse_args(["approve", "--all"]).names == []
