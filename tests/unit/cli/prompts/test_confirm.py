"""A person's yes or no, on a terminal of its own."""

import asyncio
import io
import os
import select
from collections.abc import Iterator
from typing import TextIO

import pytest

from bascule.cli.prompts.confirm import MOST_SHOWN, Consent, consent_at_the_terminal, in_full
from bascule.core.client_features import Approval
from bascule.core.errors import Refused
from bascule.policy.verdict import Ask
from bascule.runtime.approvals.ask import Asking
from support.links import ALICE
from support.waiting import fail_after, until

CALL = Approval("work_act", "work", "act", ALICE, {"path": "/data/a"}, "waits")


class Terminal(io.StringIO):
    """Text that goes to a terminal."""

    def isatty(self) -> bool:
        return True


class Seat:
    """A terminal, and the person before it."""

    def __init__(self) -> None:
        self.ours, self.theirs = os.openpty()
        self.reading: TextIO = os.fdopen(self.theirs, closefd=False)
        self.writing = Terminal()
        self.consent = Consent(self.reading, self.writing)
        self._hung_up = False

    async def asked(self) -> None:
        await until(lambda: self.writing.getvalue().endswith("[y/N] "))

    def type(self, words: bytes) -> None:
        os.write(self.ours, words)

    def hang_up(self) -> None:
        if not self._hung_up:
            self._hung_up = True
            os.close(self.ours)

    def close(self) -> None:
        self.hang_up()
        os.close(self.theirs)


@pytest.fixture
def seat() -> Iterator[Seat]:
    made = Seat()
    yield made
    made.close()


async def answer(seat: Seat, typed: bytes) -> bool:
    async with fail_after(20):
        asking = asyncio.create_task(seat.consent.agrees("Go on?"))
        await seat.asked()
        seat.type(typed)
        return await asking


@pytest.mark.parametrize("typed", [b"y\n", b"Yes\n", b" YES \n"])
async def test_a_yes_is_one(seat: Seat, typed: bytes):
    assert await answer(seat, typed) is True
    assert seat.writing.getvalue() == "Go on? [y/N] "


@pytest.mark.parametrize("typed", [b"\n", b"n\n", b"yess\n", b"no y\n", b"\x04", b"\xff\n"])
async def test_anything_else_is_a_no(seat: Seat, typed: bytes):
    assert await answer(seat, typed) is False


async def test_what_was_typed_before_the_question_is_no_answer_to_it(seat: Seat):
    seat.type(b"y\n")
    await until(lambda: bool(select.select([seat.theirs], [], [], 0)[0]))
    assert await answer(seat, b"n\n") is False


async def test_a_terminal_that_goes_away_is_a_no(seat: Seat):
    async with fail_after(20):
        asking = asyncio.create_task(seat.consent.agrees("Go on?"))
        await seat.asked()
        seat.hang_up()
        assert await asking is False


@pytest.mark.parametrize("streams", [(io.StringIO(), Terminal()), (Terminal(), io.StringIO())])
def test_where_nobody_sits_nobody_can_be_asked(streams: tuple[io.StringIO, io.StringIO]):
    assert consent_at_the_terminal(*streams) is None
    assert consent_at_the_terminal(Terminal(), Terminal()) is not None


async def test_a_call_is_shown_whole_before_it_is_agreed_to(seat: Seat):
    async with fail_after(20):
        asking = asyncio.create_task(seat.consent.approve(CALL))
        await seat.asked()
        seat.type(b"y\n")
        assert await asking is True
    shown = seat.writing.getvalue()
    for words in ("work_act waits for a person", "server:     work", "tool:       act", f"on behalf:  {ALICE}"):
        assert words in shown
    assert 'arguments:  {"path":"/data/a"}' in shown
    assert shown.endswith("Let work/act go on? [y/N] ")


async def test_silence_is_a_refusal_and_nothing_goes_on_waiting_for_the_person(seat: Seat):
    asking = Asking(seat.consent.approve, limit=0.2)
    call = ("work_act", "work", "act")
    async with fail_after(20):
        with pytest.raises(Refused, match="nobody answered"):
            await asking.agree(Ask("person_agrees", "waits"), call, ALICE, {})
    assert seat.writing.getvalue().endswith("[y/N] \n")
    assert not asyncio.get_running_loop().remove_reader(seat.theirs)


def test_arguments_can_neither_move_the_cursor_nor_forge_a_line():
    nasty = "\x1b[2J\r\n  tool:       harmless\u202e\x9b\u2028"
    shown = in_full(Approval("n", "s", "t", ALICE, {"a": nasty, nasty: 1}, "m"))

    assert shown.count("\n") == in_full(CALL).count("\n")
    assert not {"\x1b", "\r", "\u202e", "\x9b", "\u2028"} & set(shown)
    assert "\\u001b[2J" in shown
    assert "\\u202e" in shown


def test_arguments_without_end_are_cut_and_that_is_told():
    shown = in_full(Approval("n", "s", "t", ALICE, {"a": "x" * (MOST_SHOWN + 100)}, "m"))

    assert "more characters that are NOT SHOWN" in shown
    assert len(shown) < MOST_SHOWN + 1000
