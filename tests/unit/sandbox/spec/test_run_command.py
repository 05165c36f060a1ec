"""Commands that are run to their end."""

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.engine import Ended
from bascule.sandbox.spec.run_command import KEPT, Heard, heard, ran

ENV = {"PATH": "/usr/bin:/bin"}


async def test_both_outputs_and_the_code_are_told() -> None:
    ended = await ran(Command(("sh", "-c", "echo out; echo err >&2; exit 3"), ENV), 20)
    assert (ended.code, sorted(ended.output.split())) == (3, ["err", "out"])


async def test_or_each_of_them_by_itself() -> None:
    assert await heard(Command(("sh", "-c", "echo out; echo err >&2; exit 3"), ENV), 20) == Heard(3, b"out\n", b"err\n")


async def test_nothing_is_said_to_it() -> None:
    assert await ran(Command(("cat",), ENV), 20) == Ended(0, "")


async def test_of_many_words_the_last_are_kept() -> None:
    ended = await ran(Command(("sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo end"), ENV), 20)
    assert len(ended.output) == KEPT
    assert ended.output.endswith("xend\n")


async def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(SandboxError, match="took longer") as told:
        await ran(Command(("sh", "-c", "echo waiting; exec sleep 100"), ENV), 1.5)
    assert told.value.evidence == "waiting\n"


async def test_one_that_cannot_be_started_is_told_as_ever() -> None:
    with pytest.raises(SandboxError, match="not found"):
        await ran(Command(("no-such-program",), ENV), 20)
