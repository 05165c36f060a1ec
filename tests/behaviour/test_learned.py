"""From what a level is learned, what is released when, and what is left behind about it."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.core.errors import OutcomeWithheld, StoreError
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity, Lane
from support.runtime import Events, a_tool, at_work, bad, calls_in, good, obeying, running, twinned
from support.scenarios import entry, write_yaml
from support.servers import argv
from support.spies import CARRIERS, WORDS, answer, progress, spying
from support.waiting import fail_after, until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE = Principal("alice", "s-1")
TRUSTED: dict[str, Any] = {"trust": ("labels",)}
FULL = "bascule.store.sqlite.levels.SqliteLevels.raise_level"


# Learned from


@pytest.mark.requirement("RAT-7")
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(("trust", "level"), [(("labels",), CONFIDENTIAL), ((), PUBLIC)])
async def test_labels_raise_if_their_server_is_trusted_for_them(
    tmp_path: Path, carrier: str, trust: Any, level: DataSensitivity, events: Events
):
    scenario = {"tools/call": [answer("confidential")]}
    async with (
        spying(carrier, tmp_path, scenario, trust=trust) as server,
        at_work(server.config, events=events) as session,
    ):
        good(await session.call("loose_act"))
        assert session.sensitivity is level
    assert bool(events.call.findings) == (level is PUBLIC)


@pytest.mark.requirement("RAT-7")
async def test_a_rule_raises_before_the_request_is_sent(tmp_path: Path, events: Events):
    """The twin dies of the call. The level was there before that, by the rule and not for want of an answer."""
    server = twinned(obeying(tmp_path / "open", raises={"act": "confidential"}), obeying(tmp_path / "twin"))
    async with at_work(server, events=events) as session:
        bad(await session.call("work_act", {"exit": 3}), FailureKind.CONNECTION_ERROR)

        assert session.sensitivity is CONFIDENTIAL
        assert [receipt.cause for receipt in session.receipts] == [Cause("raises rule", "work", "act")]
    assert calls_in(tmp_path / "open") == []


@pytest.mark.requirement("RAT-7")
async def test_of_several_rules_the_highest_counts_and_patterns_are_of_the_servers_own_names(tmp_path: Path):
    tools = [a_tool(name) for name in ("read", "read_all", "write")]
    rules = {"read*": "internal", "*_all": "confidential", "work_write": "secret"}
    pair = [obeying(tmp_path / name, *tools, raises=rules) for name in ("open", "twin")]
    async with at_work(twinned(*pair)) as session:
        levels: list[DataSensitivity] = []
        for name in ("write", "read", "read_all"):
            good(await session.call(f"work_{name}"))
            levels.append(session.sensitivity)

    assert levels == [PUBLIC, INTERNAL, CONFIDENTIAL]


@pytest.mark.requirement("RAT-7")
async def test_a_call_that_would_be_refused_then_raises_nothing(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", raises={"act": "confidential"})) as session:
        bad(await session.call("work_act"), FailureKind.DENIED)
        assert (session.sensitivity, session.receipts) == (PUBLIC, ())


@pytest.mark.requirement("RAT-7")
@pytest.mark.parametrize(
    ("word", "level"), [(TRUSTED, SECRET), ({"raises": {"act": "internal"}}, INTERNAL), ({}, PUBLIC)]
)
async def test_an_end_that_nobody_can_read_raises_where_something_could_have_come(
    tmp_path: Path, word: dict[str, Any], level: DataSensitivity
):
    async with at_work(obeying(tmp_path / "log", **word)) as session:
        bad(await session.call("work_act", {"exit": 3}), FailureKind.CONNECTION_ERROR)
        assert session.sensitivity is level


@pytest.mark.requirement("RAT-7")
async def test_a_rule_that_an_edit_brings_holds_from_the_next_call_on(tmp_path: Path):
    logs = [tmp_path / "open", tmp_path / "twin"]
    plain = entry("obeying", logs[0], command_isolated=argv("obeying", logs[1]))
    path = write_yaml(tmp_path, {"work": plain})
    async with fail_after(30, "the runtime"), Runtime.from_file(path) as runtime:
        session = runtime.session("alice", "s-1")
        good(await session.call("work_act", {"n": 1}))
        good(await session.call("work_act", {"n": 2}))
        write_yaml(tmp_path, {"work": {**plain, "raises": {"act": "secret"}}})
        await runtime.reload()
        assert good(await session.call("work_act", {"text": WORDS})).lane is Lane.SEALED
        assert session.sensitivity is SECRET
    assert WORDS not in logs[0].read_text()


# Released


@pytest.mark.requirement("RAT-8")
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_the_caller_sees_neither_outcome_nor_progress_before_the_level_is_kept(
    tmp_path: Path, carrier: str, events: Events
):
    seen: list[tuple[str | None, DataSensitivity, int]] = []
    scenario = {"tools/call": [{"say": [progress(WORDS)], **answer("secret")}]}
    async with (
        spying(carrier, tmp_path, scenario, **TRUSTED) as server,
        at_work(server.config, events=events) as session,
    ):

        def hear(_progress: float, _total: float | None, message: str | None) -> None:
            seen.append((message, session.sensitivity, len(session.receipts)))

        assert good(await session.call("loose_act", on_progress=hear)).text == WORDS

    assert seen == [(WORDS, SECRET, 1)]
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("LevelChanged") < kinds.index("ToolInvoked")


async def full(*_: object) -> None:
    raise StoreError("the disk is full", fix="make room")


@pytest.mark.requirement("RAT-8")
@pytest.mark.parametrize("carrier", CARRIERS)
async def test_what_cannot_be_kept_is_not_shown_and_the_agent_session_is_secret(
    tmp_path: Path, carrier: str, events: Events, monkeypatch: pytest.MonkeyPatch
):
    heard: list[Any] = []
    scenario = {"tools/call": [{"say": [progress(WORDS)], **answer("internal")}]}
    async with (
        spying(carrier, tmp_path, scenario, **TRUSTED) as server,
        at_work(server.config, events=events) as session,
    ):
        await session.connect()
        monkeypatch.setattr(FULL, full)
        failure = bad(
            await session.call("loose_act", on_progress=lambda *words: heard.append(words)), FailureKind.DENIED
        )

        assert (failure.code, failure.fix) == ("BSC-303", "make room")
        assert "the disk is full" in failure.evidence
        assert session.sensitivity is SECRET
        assert heard == []
    assert WORDS not in repr((failure, [event.outcome for event in events.calls]))


@pytest.mark.requirement("RAT-8")
async def test_a_dataset_that_cannot_be_kept_is_told_and_counts_all_the_same(monkeypatch: pytest.MonkeyPatch):
    async with running() as runtime:
        session = runtime.session("alice", "s-1")
        await session.begin()
        monkeypatch.setattr(FULL, full)
        with pytest.raises(OutcomeWithheld, match="could not be kept"):
            await session.add_private_dataset("payroll", INTERNAL)
        assert session.sensitivity is SECRET


# Receipts


@pytest.mark.requirement("RAT-9")
async def test_a_raise_leaves_a_receipt(tmp_path: Path, events: Events):
    servers = [
        twinned(obeying(tmp_path / "a", name="confined"), obeying(tmp_path / "b", name="confined")),
        obeying(tmp_path / "c", name="loose", **TRUSTED),
        obeying(tmp_path / "d", name="vouched", vouched=CONFIDENTIAL),
    ]
    labelled = {"content": [], "_meta": {"dev.bascule/labels": ["confidential"]}}
    began = time.time()
    async with running(*servers, events=events) as runtime:
        session = runtime.session("alice", "s-1")
        await session.connect()
        good(await session.call("loose_act", {"result": labelled}))
        (receipt,) = session.receipts

    assert (receipt.change, receipt.principal, receipt.cause) == ("raise", ALICE, Cause("label", "loose", "act"))
    assert (receipt.before, receipt.after, receipt.epoch) == (PUBLIC, CONFIDENTIAL, 1)
    assert began <= receipt.at <= time.time()
    assert receipt.closed == ("confined (open)", "loose (open)", "vouched (open)")
    assert receipt.twins == {"confined": "declared", "loose": "refused", "vouched": "vouched"}
    assert receipt.fence == "no other runtime had to be waited for"
    (told,) = events.raises
    assert (told.before, told.after, told.cause) == (receipt.before, receipt.after, receipt.cause)
    assert (told.closed, told.twins) == (receipt.closed, receipt.twins)


@pytest.mark.requirement("RAT-9")
async def test_a_receipt_names_the_dataset_and_who_had_to_hear_of_it_and_outlives_the_runtime():
    async with running() as other, running() as runtime:
        session = runtime.session("alice", "s-1")
        await other.session("alice", "s-1").begin()
        await session.add_private_dataset("payroll", INTERNAL)
        await session.add_private_dataset("payroll", INTERNAL)
        await session.add_private_dataset("patients", SECRET)
        receipts = session.receipts
        await until(lambda: len(other.session("alice", "s-1").receipts) == 2)
    async with running() as runtime:
        session = runtime.session("alice", "s-1")
        await session.begin()
        assert session.receipts == receipts

    assert [(receipt.before, receipt.after, receipt.cause.dataset) for receipt in receipts] == [
        (PUBLIC, INTERNAL, "payroll"),
        (INTERNAL, SECRET, "patients"),
    ]
    assert [receipt.fence for receipt in receipts] == ["1 other runtimes acknowledged"] * 2


@pytest.mark.requirement("RAT-9")
async def test_nothing_that_an_agent_session_can_do_lowers_its_level(tmp_path: Path):
    unlabelled = {"content": [], "_meta": {"dev.bascule/labels": ["public"]}}
    async with at_work(twinned(obeying(tmp_path / "a", **TRUSTED), obeying(tmp_path / "b"))) as session:
        await session.add_private_dataset("payroll", SECRET)
        await session.add_private_dataset("payroll", PUBLIC)
        good(await session.call("work_act", {"result": unlabelled}))
        await session.close()
        await session.begin()
        await asyncio.gather(*(session.call("work_act") for _ in range(3)))

        assert session.sensitivity is SECRET
        assert [receipt.change for receipt in session.receipts] == ["raise"]
        assert isinstance(await session.call("work_nothing"), ToolFailure)
