"""Not a byte of a call that may change something is handed over before its record is in the audit log."""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import OutcomeWithheld
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from support.auditing import logged
from support.handed_over import HandedOver, counting_in
from support.offers import life
from support.runtime import at_work, bad, good, well
from support.spies import CARRIERS, spying


class Watched(HandedOver):
    """Looks into the log whenever a request is handed over, and notes those that are not in it."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self._state = state
        self.requests = 0
        self.early: list[str] = []
        self._sent = Counter[str]()

    def note(self, piece: bytes | bytearray | memoryview, to: Any = None) -> None:
        for method in ("tools/call", "resources/read", "prompts/get"):
            count = bytes(piece).count(f'"method":"{method}"'.encode())
            if count:
                self.requests += count
                wanted = "" if method == "tools/call" else method
                here = [one for one in logged(self._state, "sending") if one.get("method", "") == wanted]
                self._sent[method] += count
                if len(here) < self._sent[method]:
                    self.early.append(f"{method}: {self._sent[method]} sent, {len(here)} written down")


@pytest.fixture
def watched() -> Iterator[Watched]:
    looking = Watched(Path(os.environ["BASCULE_HOME"]))
    with counting_in(looking):
        yield looking


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_every_request_is_written_down_before_it_leaves(carrier: str, tmp_path: Path, watched: Watched):
    offers = life(uris=("note://1",), prompts=({"name": "greet"},))
    async with spying(carrier, tmp_path, offers) as spy, at_work(spy.config) as session:
        good(await session.call("loose_act", {"n": 0}))
        for _ in range(3):
            calls = (session.call("loose_act", {"n": number}) for number in range(12))
            assert all(outcome.ok for outcome in await asyncio.gather(*calls))
        well(await session.read("note://1"))
        well(await session.prompt("loose_greet"))

    assert watched.early == []
    assert watched.requests >= 39


async def test_a_call_whose_record_cannot_be_written_never_leaves(tmp_path: Path, watched: Watched):
    """The file is in the way of its own successor: a folder stands where the next one has to be made."""
    async with spying("stdio", tmp_path) as spy, at_work(spy.config) as session:
        good(await session.call("loose_act", {"n": 0}))
        audit = session._executor._audit
        assert audit is not None
        assert audit._open is not None
        log = Path(os.environ["BASCULE_HOME"]) / "audit" / "0001.log"
        kept = log.with_name("aside")
        log.rename(kept)
        log.mkdir()
        audit._open.slot.file.close()
        before = watched.requests
        outcomes = await asyncio.gather(*(session.call("loose_act", {"n": number}) for number in range(5)))
        failures = [bad(outcome, FailureKind.DENIED) for outcome in outcomes]
        with pytest.raises(OutcomeWithheld):
            await session.add_private_dataset("payroll", DataSensitivity.INTERNAL)
        log.rmdir()
        kept.rename(log)

        assert {(failure.code, failure.evidence.split("\n")[0]) for failure in failures} == {
            ("BSC-304", "rule: written_down_first")
        }
        assert watched.requests == before
        assert len(spy.asked("tools/call")) == 1
        good(await session.call("loose_act", {"n": 1}))
        await session.add_private_dataset("payroll", DataSensitivity.INTERNAL)

    ends = [record["outcome"] for record in logged(Path(os.environ["BASCULE_HOME"]), "ended")]
    assert ends == ["ok", *["denied"] * 5, "ok"]
