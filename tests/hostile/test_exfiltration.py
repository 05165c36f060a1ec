"""Private data that wants out, by every kind of request: not a byte of it is handed to a server that could send it on."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bascule.config import Heartbeat
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.session import AgentSession
from support.handed_over import HandedOver, handed_over
from support.offers import life, result
from support.runtime import Events, a_tool, at_work, bad, good, running, twinned, well
from support.spies import CARRIERS, WORDS, answer, spying

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET

OFFERS = life(
    uris=("note://index",),
    templates=("note://{what}",),
    prompts=({"name": "greet", "arguments": [{"name": "name"}, {"name": "manner"}]},),
)

WATCHED = 0.5
"""Seconds for which it is looked whether something is said that must not be."""

BEATING = Heartbeat(interval=0.05, stale_after=30)


@pytest.fixture
def counted() -> Iterator[HandedOver]:
    with handed_over() as counting:
        yield counting


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    return request.param


async def attempts(session: AgentSession) -> dict[str, Any]:
    """Everything with which an agent could carry words to a server called `loose`, tried."""
    return {
        "argument": await session.call("loose_act", {"text": WORDS}),
        "name of an argument": await session.call("loose_act", {WORDS: 1}),
        "name of a tool": await session.call(f"loose_{WORDS}"),
        "URI of a template": await session.read(f"note://{WORDS}"),
        "URI of a named server": await session.read(f"other://{WORDS}", server="loose"),
        "argument of a prompt": await session.prompt("loose_greet", {"name": WORDS}),
        "completion of a blank": await session.complete("note://{what}", "what", WORDS),
        "completion of an argument": await session.complete("loose_greet", "name", WORDS),
        "context of a completion": await session.complete("loose_greet", "name", "a", {"manner": WORDS}),
    }


async def look_around(session: AgentSession) -> None:
    """Everything that asks servers anew what they have."""
    await session.connect()
    await session.tools()
    await session.library(refresh=True)
    await session.settle("loose", again=True)


@pytest.mark.parametrize("level", [CONFIDENTIAL, SECRET])
async def test_no_request_carries_anything_to_a_loose_server(
    carrier: str, level: DataSensitivity, tmp_path: Path, counted: HandedOver
):
    async with (
        spying(carrier, tmp_path, OFFERS, permissions={"act": "read"}) as loose,
        at_work(loose.config) as session,
    ):
        await session.library()
        before = await attempts(session)
        assert {name for name, outcome in before.items() if isinstance(outcome, ToolFailure)} == {"name of a tool"}
        assert WORDS.encode() in loose.heard

        await session.add_private_dataset("payroll", level)
        counted.pieces.clear()
        for name, outcome in (await attempts(session)).items():
            assert isinstance(outcome, ToolFailure), name
            assert outcome.kind in {FailureKind.DENIED, FailureKind.UNKNOWN_TOOL}, name
        await look_around(session)
        await attempts(session)

        assert counted.pieces == []


async def test_a_private_agent_session_that_begins_anew_reaches_a_loose_server_with_nothing(
    carrier: str, tmp_path: Path, counted: HandedOver
):
    """After a restart nothing was listed yet, and asking for it would already be a word too many."""
    async with spying(carrier, tmp_path, OFFERS) as loose:
        async with at_work(loose.config) as session:
            await session.add_private_dataset("payroll", SECRET)
        async with at_work(loose.config) as session:
            await look_around(session)
            for name, outcome in (await attempts(session)).items():
                assert isinstance(outcome, ToolFailure), name

        assert counted.pieces == []
        assert loose.messages == []


async def test_a_server_that_is_vouched_for_up_to_a_level_hears_nothing_above_it(
    carrier: str, tmp_path: Path, counted: HandedOver
):
    async with (
        spying(carrier, tmp_path, OFFERS, permissions={"act": "read"}, vouched=CONFIDENTIAL) as loose,
        at_work(loose.config) as session,
    ):
        await session.library()
        await session.add_private_dataset("payroll", SECRET)
        counted.pieces.clear()
        await attempts(session)
        await look_around(session)

        assert counted.pieces == []
        assert WORDS.encode() not in loose.heard


@pytest.mark.parametrize("vouched", [CONFIDENTIAL, SECRET])
@pytest.mark.parametrize("permissions", [{"act": "connect"}, {"act": ["read", "connect"]}, {}], ids=repr)
async def test_a_tool_that_connects_is_not_covered_by_anybodys_word(
    carrier: str, vouched: DataSensitivity, permissions: Any, tmp_path: Path
):
    async with (
        spying(carrier, tmp_path, permissions=permissions, vouched=vouched) as loose,
        at_work(loose.config) as session,
    ):
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        failure = bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)

        assert "rule: data_stays_in" in failure.evidence
        assert WORDS.encode() not in loose.heard


LISTED = [{"tools": [a_tool(name)]} for name in ("send", "read_mail")]


async def test_a_tool_that_takes_a_name_with_more_rights_has_not_more_of_a_server(carrier: str, tmp_path: Path):
    """Between two agent sessions `send` becomes `read_mail`, to fit the operator's pattern. It is on the same server."""
    scenario = {"tools/list": [result(**listed) for listed in LISTED]}
    async with spying(carrier, tmp_path, scenario, permissions={"read_*": "read"}) as loose:
        async with running(loose.config) as runtime:
            first = runtime.session("alice", "s-1")
            good(await first.call("loose_send", {"text": "hi"}))
        async with running(loose.config) as runtime:
            session = runtime.session("alice", "s-1")
            await session.connect()
            await session.add_private_dataset("payroll", CONFIDENTIAL)
            for name in ("loose_send", "loose_read_mail"):
                outcome = await session.call(name, {"text": WORDS})
                assert isinstance(outcome, ToolFailure)

        assert WORDS.encode() not in loose.heard


async def test_a_twin_whose_tools_have_other_names_gets_nothing_and_neither_has_the_server(
    carrier: str, tmp_path: Path
):
    tools = {"tools/list": [result(tools=[a_tool("read_mail")])]}
    async with (
        spying(carrier, tmp_path) as loose,
        spying("stdio", tmp_path, tools, name="twin") as twin,
        at_work(twinned(loose.config, twin.config)) as session,
    ):
        good(await session.call("loose_act", {"text": "hi"}))
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        failure = bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)

        assert failure.code == "BSC-302"
        for spy in (loose, twin):
            assert WORDS.encode() not in spy.heard


# What we say on our own account

LIST_CHANGED = '{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}'
OLD: dict[str, Any] = {
    "server/discover": [{"error": {"code": -32601, "message": "Method not found"}}],
    "initialize": [
        {
            "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "old", "version": "1"},
            }
        }
    ],
    "tools/list": [{"result": {"tools": [a_tool("act")]}}],
    "ping": [{"result": {}}],
    "tools/call": [{**answer(), "say": [LIST_CHANGED, LIST_CHANGED]}],
}


@pytest.mark.parametrize("era", ["old", "new"])
async def test_neither_heartbeats_nor_listings_nor_farewells_reach_a_lane_that_was_closed(
    carrier: str, era: str, tmp_path: Path, counted: HandedOver
):
    """The tools have just changed, and every link asks twenty times a second whether its server lives."""
    async with spying(carrier, tmp_path, OLD if era == "old" else OFFERS, heartbeat=BEATING) as loose:
        async with at_work(loose.config) as session:
            await session.connect()
            await loose.until_asked("ping" if era == "old" else "server/discover", 3)
            good(await session.call("loose_act"))
            await session.add_private_dataset("payroll", SECRET)
            counted.pieces.clear()
            await asyncio.sleep(WATCHED)
            await session.tools()
        assert counted.pieces == []


async def test_on_a_link_that_is_shared_others_go_on_and_nothing_of_the_private_one_is_there(
    carrier: str, tmp_path: Path
):
    async with (
        spying(carrier, tmp_path, OLD, lifetime="shared", stateless=True) as loose,
        running(loose.config) as runtime,
    ):
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        good(await alice.call("loose_act", {"text": "hi"}))
        await alice.add_private_dataset("payroll", SECRET)
        bad(await alice.call("loose_act", {"text": WORDS}), FailureKind.DENIED)
        listed = len(loose.asked("tools/list"))
        good(await bob.call("loose_act", {"text": "hello"}))
        # On nobody's behalf: what the server has is no secret.
        await loose.until_asked("tools/list", listed + 1)
        bad(await alice.call("loose_act", {"text": WORDS}), FailureKind.DENIED)

        assert WORDS.encode() not in loose.heard
        assert len(loose.asked("tools/call")) == 2


async def test_what_is_under_way_on_a_shared_link_ends_with_the_raise(carrier: str, tmp_path: Path):
    async with (
        spying(carrier, tmp_path, {"tools/call": [{}, {}, answer()]}, lifetime="shared", stateless=True) as loose,
        running(loose.config) as runtime,
    ):
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        hers, his = (asyncio.create_task(session.call("loose_act")) for session in (alice, bob))
        await loose.until_asked("tools/call", 2)
        await alice.add_private_dataset("payroll", SECRET)

        assert bad(await hers, FailureKind.CONNECTION_ERROR).code == "BSC-408"
        assert not his.done()
        good(await bob.call("loose_act"))
        his.cancel()


async def test_what_we_add_to_a_request_is_chance_and_our_name_and_nothing_of_the_callers(carrier: str, tmp_path: Path):
    smuggled = {"_meta": {"baggage": WORDS, "traceparent": WORDS, "progressToken": WORDS}, "text": "hi"}
    async with spying(carrier, tmp_path, OFFERS) as loose, at_work(loose.config) as session:
        for _ in range(2):
            good(await session.call("loose_act", smuggled, on_progress=lambda *_: None))
            well(await session.read("note://index"))
        metas = [message["params"]["_meta"] for message in loose.messages if "id" in message]

    for meta in metas:
        assert {key for key in meta if "/" not in key} <= {"traceparent", "progressToken"}
        assert WORDS not in str(meta)
    traces = [meta["traceparent"] for meta in metas if "traceparent" in meta]
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", trace) for trace in traces)
    assert len({*traces}) == len(traces) >= 4
    # It is an argument like any other, and stays among them.
    assert loose.asked("tools/call")[0]["arguments"] == smuggled


# What a rule raises, and where

RULED: dict[str, Any] = {"raises": {"act": "confidential"}}


async def test_a_rule_on_a_loose_server_refuses_and_raises_nothing(carrier: str, tmp_path: Path, events: Events):
    async with spying(carrier, tmp_path, **RULED) as loose, at_work(loose.config, events=events) as session:
        failure = bad(await session.call("loose_act", {"text": WORDS}), FailureKind.DENIED)

        assert "rule: data_stays_in" in failure.evidence
        assert (session.sensitivity, session.lane) == (DataSensitivity.PUBLIC, Lane.OPEN)
        assert (events.raises, session.receipts) == ([], ())
        assert loose.asked("tools/call") == []


async def test_what_a_rule_raises_is_asked_of_the_twin_and_never_of_the_server(carrier: str, tmp_path: Path):
    async with (
        spying(carrier, tmp_path, **RULED) as loose,
        spying("stdio", tmp_path, {"tools/call": [answer()]}, name="twin") as twin,
        at_work(twinned(loose.config, twin.config)) as session,
    ):
        brought = good(await session.call("loose_act", {"text": WORDS}))

        assert (brought.text, brought.lane, session.sensitivity) == (WORDS, Lane.SEALED, CONFIDENTIAL)
        assert WORDS.encode() not in loose.heard
        assert len(twin.asked("tools/call")) == 1
