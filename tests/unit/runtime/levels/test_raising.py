"""Levels of agent sessions as a runtime keeps them: held, kept, fenced, told."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import OutcomeWithheld, SandboxError, StoreError
from bascule.core.events import LevelChanged, LevelFollowed
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.raising import Raising, in_words
from bascule.sensitivity.ratchet import Ratchet, Ratchets
from bascule.store.deadline import LONGEST, StoreWait, current_wait
from bascule.store.levels.interface import Laggards, LevelStore
from bascule.store.levels.position import Position
from support.auditing import Notes
from support.level_stores import Place, Statements, place_at, statements_at
from support.waiting import until

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-2")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
LABEL = Cause("label", "files", "read")


class Gates:
    """Notes for whom it was to be closed, and how private they were at that moment."""

    def __init__(self, ratchets: Ratchets) -> None:
        self._ratchets = ratchets
        self.closed: list[tuple[Principal, DataSensitivity]] = []
        self.done: list[str] = []

    def close_wider(self, principal: Principal) -> tuple[str, ...]:
        self.closed.append((principal, self._ratchets.of(principal).level))
        return ("files (open)",)

    def taken_over(self, level: DataSensitivity) -> Mapping[str, str]:
        return {"files": "declared"} if level >= CONFIDENTIAL else {}

    async def cut(self) -> None:
        self.done.append("cut")

    async def tighten(self, principal: Principal) -> None:
        self.done.append(f"tightened {principal.user_id} at {self._ratchets.of(principal).settled.name}")


class Scene:
    """A runtime's levels on a store of its own connection."""

    def __init__(self, store: LevelStore) -> None:
        self.ratchets = Ratchets()
        self.events: list[LevelChanged | LevelFollowed] = []
        self.audit = Notes()
        self.raising = Raising(store, self.ratchets, self.events.append, lambda: 7.0, self.audit)
        self.raising.gates = self.gates = Gates(self.ratchets)
        self.store = store

    def ratchet(self, principal: Principal = ALICE) -> Ratchet:
        return self.ratchets.of(principal)


@pytest.fixture
async def place(store_address: str | None, tmp_path: Path) -> AsyncGenerator[Place]:
    async with place_at(store_address, tmp_path) as place:
        yield place


@pytest.fixture
async def scene(place: Place) -> AsyncGenerator[Scene]:
    scene = Scene(await place.open())
    await scene.raising.fence.open()
    yield scene
    await scene.raising.close()


async def test_an_agent_session_is_kept_from_its_first_moment(scene: Scene):
    await asyncio.gather(*(scene.raising.begin(ALICE) for _ in range(5)))

    assert scene.ratchet().known
    assert scene.ratchet().level is PUBLIC
    assert [record.principal for record in await scene.store.sessions()] == [ALICE]


async def test_one_that_was_private_before_is_so_from_the_start_and_says_why(scene: Scene, place: Place):
    await (await place.open()).raise_level(ALICE, SECRET, LABEL, 1.0)
    await scene.raising.begin(ALICE)

    assert (scene.ratchet().level, scene.ratchet().because) == (SECRET, "label of files/read")
    assert [receipt.after for receipt in scene.raising.receipts(ALICE)] == [SECRET]


async def test_a_raise_is_durable_closed_receipted_and_told(scene: Scene, place: Place):
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    record = await (await place.open()).begin(ALICE, 9.0)
    (receipt,) = scene.raising.receipts(ALICE)
    (event,) = scene.events
    assert isinstance(event, LevelChanged)
    assert record.level is scene.ratchet().level is scene.ratchet().settled is CONFIDENTIAL
    assert scene.gates.closed == [(ALICE, CONFIDENTIAL)]
    assert (receipt.closed, receipt.twins, receipt.fence) == (
        ("files (open)",),
        {"files": "declared"},
        "no other runtime had to be waited for",
    )
    assert (event.before, event.after, event.cause, event.closed) == (PUBLIC, CONFIDENTIAL, LABEL, ("files (open)",))
    assert scene.gates.done == ["cut", "tightened alice at CONFIDENTIAL"]


async def test_what_raised_a_level_is_withheld_if_a_wider_box_may_still_run(scene: Scene):
    await scene.raising.begin(ALICE)

    async def cut() -> None:
        raise SandboxError("the box files-1 could not be removed", fix="docker rm --force files-1")

    scene.gates.cut = cut
    with pytest.raises(OutcomeWithheld, match="may still run") as caught:
        await scene.raising.raise_to(ALICE, SECRET, LABEL)
    assert "docker rm" in caught.value.fix
    assert (scene.ratchet().level, scene.ratchet().settled) == (SECRET, PUBLIC)


async def test_a_raise_is_not_done_before_what_was_closed_is_gone(scene: Scene):
    await scene.raising.begin(ALICE)
    gone = asyncio.Event()

    async def cut() -> None:
        await gone.wait()

    scene.gates.cut = cut
    raising = asyncio.create_task(scene.raising.raise_to(ALICE, SECRET, LABEL))
    await until(lambda: scene.ratchet().epoch > 0)
    done, _ = await asyncio.wait((raising,), timeout=0.1)
    assert not done
    assert scene.ratchet().settled is PUBLIC

    gone.set()
    await raising
    assert scene.ratchet().settled is SECRET


async def test_it_is_closed_before_anything_is_waited_for(scene: Scene):
    await scene.raising.begin(ALICE)
    task = scene.raising.start(ALICE, SECRET, LABEL)

    assert scene.ratchet().level is SECRET
    assert scene.gates.closed == [(ALICE, SECRET)]
    await task


async def test_what_is_known_and_fenced_already_costs_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)

    async def not_now(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(scene.store, "raise_level", not_now)
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)


async def test_what_another_runtime_raised_is_waited_for_too(scene: Scene, place: Place):
    """Its fence may still be under way, so its level alone is no promise."""
    await scene.raising.begin(ALICE)
    other = await place.open()
    await other.raise_level(ALICE, SECRET, LABEL, 1.0)
    other.ring()
    await until(lambda: scene.ratchet().level is SECRET)

    assert scene.ratchet().settled is PUBLIC
    await scene.raising.raise_to(ALICE, SECRET, LABEL)
    assert scene.ratchet().settled is SECRET
    assert not any(isinstance(event, LevelChanged) for event in scene.events), "it was changed elsewhere"
    await until(lambda: LevelFollowed(ALICE, SECRET, 7.0) in scene.events)


async def test_a_raise_elsewhere_closes_here(scene: Scene, place: Place):
    await scene.raising.begin(ALICE)
    await scene.raising.begin(BOB)
    other = Scene(await place.open())
    await other.raising.fence.open()
    await other.raising.begin(ALICE)
    await other.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    assert scene.gates.closed == [(ALICE, CONFIDENTIAL)]
    assert scene.ratchet(BOB).level is PUBLIC
    await until(lambda: scene.ratchet().because == "label of files/read")
    await until(lambda: [receipt.after for receipt in scene.raising.receipts(ALICE)] == [CONFIDENTIAL])
    await other.raising.close()


async def test_a_level_that_cannot_be_kept_withholds_and_is_secret_for_good(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    await scene.raising.begin(ALICE)

    async def broken(*_: Any) -> Any:
        raise StoreError("the disk is full", fix="make room")

    with monkeypatch.context() as patch:
        patch.setattr(scene.store, "raise_level", broken)
        with pytest.raises(OutcomeWithheld) as caught:
            await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    assert (caught.value.evidence, caught.value.fix) == ("the disk is full", "make room")
    assert scene.ratchet().level is SECRET
    assert scene.gates.closed[-1] == (ALICE, SECRET)
    # Whatever is kept, and however late it is.
    await scene.raising.fence.renew()
    assert scene.ratchet().level is SECRET


@pytest.fixture
def statements(store_address: str | None, tmp_path: Path) -> Statements:
    return statements_at(store_address, tmp_path)


async def test_a_raise_that_the_store_loses_before_it_is_fenced_withholds_and_is_secret_for_good(
    scene: Scene, statements: Statements, monkeypatch: pytest.MonkeyPatch
):
    await scene.raising.begin(ALICE)
    laggards = scene.store.laggards

    async def late(position: Position) -> Laggards:
        statements("DELETE FROM bascule.receipts")
        return await laggards(position)

    with monkeypatch.context() as patch:
        patch.setattr(scene.store, "laggards", late)
        with pytest.raises(OutcomeWithheld) as caught:
            await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    assert caught.value.evidence == "the store has lost this change"
    assert (scene.ratchet().level, scene.ratchet().settled) == (SECRET, PUBLIC)
    assert scene.gates.closed[-1] == (ALICE, SECRET)


async def test_a_receipt_that_is_lost_after_the_fence_fails_no_raise(
    scene: Scene, statements: Statements, monkeypatch: pytest.MonkeyPatch
):
    await scene.raising.begin(ALICE)
    complete = scene.store.complete_receipt

    async def late(*values: Any) -> None:
        statements("DELETE FROM bascule.receipts")
        await complete(*values)

    monkeypatch.setattr(scene.store, "complete_receipt", late)
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    assert scene.ratchet().settled is CONFIDENTIAL


async def test_in_another_database_each_raise_is_written_again(scene: Scene, place: Place, statements: Statements):
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)
    statements("DELETE FROM bascule.runtimes")
    await scene.raising.fence.renew()
    assert scene.ratchet().settled is PUBLIC
    await scene.raising.raise_to(ALICE, SECRET, LABEL)

    assert scene.ratchet().settled is SECRET


async def test_a_dataset_is_kept_also_where_the_level_is_high_enough(scene: Scene):
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, Cause("dataset", dataset="patients"))

    assert scene.raising.datasets(ALICE) == {"patients": CONFIDENTIAL}
    assert scene.ratchet().level is SECRET
    assert len(scene.raising.receipts(ALICE)) == 1


async def test_a_caller_who_gives_up_stops_no_raise(scene: Scene, place: Place):
    await scene.raising.begin(ALICE)
    raising = asyncio.create_task(scene.raising.raise_to(ALICE, SECRET, LABEL))
    await asyncio.sleep(0)
    raising.cancel()
    await asyncio.wait((raising,))
    await scene.raising.close()

    assert (await (await place.open()).begin(ALICE, 9.0)).level is SECRET


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (Cause("raises rule", "files", "read"), "raises rule of files/read"),
        (Cause("dataset", dataset="patients"), "dataset 'patients'"),
        (Cause("operator eve", reason="an audit"), "operator eve: an audit"),
    ],
)
def test_what_raised_a_level_is_told_in_words(cause: Cause, words: str):
    assert in_words(cause) == words


async def test_a_raise_is_written_down_before_it_is_over(scene: Scene):
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)
    await scene.raising.raise_to(ALICE, SECRET, LABEL)

    (receipt,) = scene.audit.changes
    assert receipt is not None
    assert (receipt.principal, receipt.after, receipt.cause) == (ALICE, SECRET, LABEL)


async def test_what_raised_a_level_is_withheld_where_that_cannot_be_written_down(scene: Scene):
    await scene.raising.begin(ALICE)
    scene.audit.full = True
    with pytest.raises(OutcomeWithheld):
        await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    with pytest.raises(OutcomeWithheld, match="could not be written down") as caught:
        await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)
    assert (caught.value.rule, caught.value.evidence, caught.value.fix) == ("written_down_first", "ENOSPC", "make room")
    # The level holds all the same, and is no higher than what was learned.
    assert (scene.ratchet().level, scene.ratchet().settled) == (CONFIDENTIAL, PUBLIC)
    assert (await scene.store.begin(ALICE, 9.0)).level is CONFIDENTIAL
    scene.audit.full = False
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    assert (scene.ratchet().settled, scene.audit.changes) == (CONFIDENTIAL, [None])


async def test_the_operations_of_a_beginning_and_of_a_raise_share_one_deadline_each(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    waits: list[tuple[str, StoreWait]] = []

    def noted(name: str) -> None:
        original = getattr(scene.store, name)

        async def operation(*values: Any) -> Any:
            waits.append((name, current_wait()))
            return await original(*values)

        monkeypatch.setattr(scene.store, name, operation)

    async def cut() -> None:
        # A sandbox that is slow to end takes nothing from the time for the store.
        assert current_wait().left == LONGEST

    monkeypatch.setattr(scene.gates, "cut", cut)
    for name in ("begin", "receipts", "raise_level", "laggards", "complete_receipt"):
        noted(name)
    await scene.raising.begin(ALICE)
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, LABEL)

    (_, began), *raised = waits
    names, shared = zip(*raised, strict=True)
    assert names == ("raise_level", "laggards", "complete_receipt", "receipts")
    assert {id(wait) for wait in shared} == {id(shared[0])}
    assert began is not shared[0]
    assert began.left < LONGEST
