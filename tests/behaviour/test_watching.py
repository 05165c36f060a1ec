"""What the dashboard shows of a runtime, and does there."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule import AgentSession
from bascule.core.outcome import FailureKind
from bascule.core.sensitivity import DataSensitivity
from support.auditing import logged
from support.locks import lock_in, locked_tools
from support.offers import DONE
from support.runtime import Events, a_tool, bad, calls_in, good, obeying, stand_in, twinned
from support.scenarios import entry, listing, scripted, write_yaml
from support.waiting import fail_after
from support.watched import AskView, News, ServerDetail, Watched, session_id, watched, watched_file

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def alice(seen: Watched) -> AgentSession:
    return seen.runtime.session("alice", "s-1")


@pytest.mark.requirement("OBS-3")
async def test_servers_are_shown_as_they_stand(tmp_path: Path):
    good_one, bad_one = obeying(tmp_path / "log"), stand_in("gone", "no_such_server")
    async with watched(good_one, bad_one) as seen:
        before = (await seen.views.overview()).servers
        assert [row.state for row in before] == ["configured", "configured"]
        await alice(seen).connect()
        work, gone = (await seen.views.overview()).servers

    assert (work.state, work.transport, work.tools, work.era) == ("ready", "stdio", 1, "2026-07-28")
    assert [(link.lane, link.state, link.count) for link in work.links] == [("open", "ready", 1)]
    assert gone.state == "failed"
    assert gone.error is not None
    assert gone.error.code.startswith("BSC-4")
    assert gone.error.message


@pytest.mark.requirement("OBS-3")
async def test_a_call_is_shown_with_its_steps_and_without_its_values(tmp_path: Path):
    tool = a_tool("act", {"properties": {"path": {"type": "string"}}})
    async with watched(obeying(tmp_path / "log", tool)) as seen:
        good(await alice(seen).call("work_act", {"path": "canary-of-a-value"}))
        (row,) = (await seen.views.timeline()).calls
        detail = await seen.views.call(row.id)

    assert (row.name, row.server, row.outcome, row.lane, row.user) == ("work_act", "work", "ok", "open", "alice")
    assert [step.name for step in row.steps][:6] == ["resolve", "validate", "decide", "lease", "send", "read"]
    assert sum(step.seconds for step in row.steps) <= row.seconds + 0.001
    assert all(one.start + one.seconds == pytest.approx(two.start) for one, two in pairwise(row.steps))
    assert detail is not None
    assert detail.arguments == {"path": "string[17]"}
    assert detail.result == ("text[29]",)
    assert b"canary" not in msgspec.json.encode(detail)


@pytest.mark.requirement("OBS-3")
async def test_tools_are_counted_with_how_their_calls_went(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        session = alice(seen)
        for _ in range(3):
            good(await session.call("work_act", {"n": 1}))
        bad(await session.call("work_act", {"error": {"code": -1, "message": "no"}}), FailureKind.TOOL_ERROR)
        (row,) = await seen.views.tools()

    assert (row.name, row.calls, row.failures) == ("work_act", 4, 1)
    assert row.kinds == {"ok": 3, "tool_error": 1}
    assert row.p50 is not None
    assert row.p90 is not None
    assert row.p99 is not None
    assert 0 < row.p50 <= row.p90 <= row.p99


@pytest.mark.requirement("OBS-3")
async def test_the_ladder_moves_and_tells_what_raised_it_and_what_is_blocked(tmp_path: Path):
    twin = obeying(tmp_path / "twin")
    servers = twinned(obeying(tmp_path / "a"), twin), obeying(tmp_path / "b", name="loose", sandbox="none")
    async with watched(*servers) as seen:
        session = alice(seen)
        await session.tools()
        id_ = session_id(session.principal)
        before = await seen.views.session(id_)
        await session.add_private_dataset("payroll", SECRET)
        after = await seen.views.session(id_)
        bad(await session.call("loose_act", {"n": 1}), FailureKind.DENIED)
        (refused,) = (await seen.views.timeline()).calls
        detail = await seen.views.call(refused.id)

    assert before is not None
    assert [rung.place for rung in before.ladder] == ["now", "above", "above", "above"]
    assert (before.row.level, before.row.lane, before.blocked) == ("public", "open", ())
    assert after is not None
    assert [rung.place for rung in after.ladder] == ["below", "below", "below", "now"]
    assert after.ladder[-1].reached is not None
    assert "payroll" in after.ladder[-1].reached.cause
    assert [receipt.after for receipt in after.receipts] == ["secret"]
    assert after.datasets == {"payroll": "secret"}
    assert [(each.name, each.now.rule) for each in after.blocked] == [("loose_act", "data_stays_in")]
    assert refused.rule == "data_stays_in"
    assert detail is not None
    assert "has no isolated twin" in detail.message


@pytest.mark.requirement("OBS-3")
async def test_what_would_be_if_it_became_secret_is_what_is_once_it_has(tmp_path: Path):
    servers = (
        twinned(obeying(tmp_path / "a"), obeying(tmp_path / "twin")),
        obeying(tmp_path / "b", name="loose", sandbox="none"),
        obeying(tmp_path / "c", name="asked", sandbox="none", ask=("act",), vouched=SECRET, permissions={"act": READ}),
        obeying(tmp_path / "d", name="raiser", sandbox="none", raises={"act": SECRET}),
    )
    async with watched(*servers) as seen:
        session = alice(seen)
        await session.tools()
        id_ = session_id(session.principal)
        foretold = await seen.views.what_if(id_, SECRET)
        assert session.sensitivity is PUBLIC, "asking changes nothing"
        await session.add_private_dataset("payroll", SECRET)
        came = await seen.views.what_if(id_, SECRET)

    assert foretold is not None
    assert came is not None
    assert (foretold.now, foretold.then, foretold.lane_then) == ("public", "secret", "sealed")
    then = {each.name: (each.then.verdict, each.then.by, each.then.lane) for each in foretold.tools}
    assert then == {each.name: (each.now.verdict, each.now.by, each.now.lane) for each in came.tools}
    assert then["work_act"] == ("allow", "declared", "sealed")
    assert then["loose_act"][0] == "refuse"
    assert then["asked_act"][:2] == ("ask", "vouched")
    by_name = {each.name: each for each in foretold.tools}
    assert by_name["loose_act"].now.by == "itself"
    assert by_name["loose_act"].then.rule == "data_stays_in"
    assert by_name["loose_act"].changes
    assert (by_name["raiser_act"].now.verdict, by_name["raiser_act"].raises) == ("refuse", "secret")


READ: Any = frozenset({"read"})


@pytest.mark.requirement("OBS-3")
async def test_a_changed_tool_is_shown_with_its_diff_and_approved(state: Path, tmp_path: Path):
    old, new = a_tool("act", description="Reads."), a_tool("act", description="Reads, and tells everybody.")
    lock_in(tmp_path, work=(old,))
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", json.dumps([new]), sandbox="none")})
    async with watched_file(path) as seen:
        session = alice(seen)
        assert await session.tools() == ()
        (drift,) = await seen.views.drift()
        assert (await seen.views.overview()).drifted == 1
        stale = await seen.deeds.approve("work", {"act": "sha256:of another one"}, by="olga")
        assert not stale.ok
        assert locked_tools(tmp_path)["act"]["description"] == "Reads."

        deed = await seen.deeds.approve("work", {"act": drift.digest}, by="olga")
        assert deed.ok, deed
        assert [tool.name for tool in await session.tools()] == ["work_act"]
        good(await session.call("work_act", {"n": 1}))
        assert await seen.views.drift() == ()

    assert (drift.change, drift.tool) == ("changed", "act")
    assert any("tells everybody" in line for line in drift.diff)
    assert ("Reads." in drift.before, "everybody" in drift.after) == (True, True)
    assert locked_tools(tmp_path)["act"]["description"].endswith("everybody.")
    (record,) = [each for each in logged(state) if each["kind"] == "approved"]
    assert (record["server"], record["tools"], record["by"]) == ("work", ["act"], "operator olga")


async def waiting(seen: Watched) -> AskView:
    async with fail_after(10, "a call that waits"):
        while not (asks := await seen.views.asks()):  # noqa: ASYNC110 -- a page looks again and again too
            await asyncio.sleep(0.01)
    (ask,) = asks
    return ask


@pytest.mark.requirement("OBS-3")
@pytest.mark.requirement("POL-5")
@pytest.mark.parametrize("agree", [True, False])
async def test_a_call_that_waits_is_answered_by_name(state: Path, tmp_path: Path, agree: bool):
    async with watched(obeying(tmp_path / "log", ask=("act",))) as seen:
        call = asyncio.create_task(alice(seen).call("work_act", {"n": 1}))
        ask = await waiting(seen)
        deed = await seen.deeds.answer(ask.id, agree=agree, by="olga")
        again = await seen.deeds.answer(ask.id, agree=not agree, by="oscar")
        outcome = await call
        assert await seen.views.asks() == ()

    assert (ask.name, ask.arguments, ask.user) == ("work_act", '{"n":1}', "alice")
    assert ask.until - ask.since == 300
    assert deed.ok
    assert not again.ok, "the first answer counts"
    assert outcome.ok is agree
    assert len(calls_in(tmp_path / "log")) == agree
    (record,) = [each for each in logged(state) if each["kind"] == "answer"]
    assert (record["answer"], record["by"]) == ("agreed" if agree else "refused", "operator olga")


@pytest.mark.requirement("POL-5")
async def test_a_program_that_answers_first_is_heard_and_the_desk_is_too_late(tmp_path: Path, events: Events):
    asked, answer = asyncio.Event(), asyncio.Event()

    async def program(_: object) -> bool:
        asked.set()
        await answer.wait()
        return False

    async with watched(obeying(tmp_path / "log", ask=("act",)), events=events, on_ask=program) as seen:
        call = asyncio.create_task(alice(seen).call("work_act", {"n": 1}))
        ask = await waiting(seen)
        await asked.wait()
        answer.set()
        bad(await call, FailureKind.DENIED)
        assert not (await seen.deeds.answer(ask.id, agree=True, by="olga")).ok
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("OBS-3")
async def test_a_call_that_was_given_up_waits_no_more(tmp_path: Path):
    async with watched(obeying(tmp_path / "log", ask=("act",))) as seen:
        call = asyncio.create_task(alice(seen).call("work_act", {"n": 1}))
        ask = await waiting(seen)
        call.cancel()
        await asyncio.wait((call,))
        assert await seen.views.asks() == ()
        assert not (await seen.deeds.answer(ask.id, agree=True, by="olga")).ok


@pytest.mark.requirement("OBS-3")
async def test_a_session_is_raised_by_hand_and_the_receipt_names_who_did(tmp_path: Path):
    async with watched(obeying(tmp_path / "log")) as seen:
        session = alice(seen)
        await session.begin()
        id_ = session_id(session.principal)
        deed = await seen.deeds.raise_session(id_, SECRET, by="olga", reason="it saw the plans")
        nobody = await seen.deeds.raise_session("bm9ib2R5", SECRET, by="olga")
        detail = await seen.views.session(id_)

    assert deed.ok
    assert not nobody.ok
    assert detail is not None
    assert (detail.row.level, detail.receipts[-1].by) == ("secret", "operator olga")
    assert "it saw the plans" in detail.receipts[-1].cause


@pytest.mark.requirement("OBS-3")
async def test_what_a_server_says_on_stderr_is_shown_without_secrets(tmp_path: Path):
    life = {"tools/list": [listing(a_tool("act"))], "tools/call": [{"stderr": "my key is canary-5f1e77aa\n", **DONE}]}
    server = scripted(tmp_path, life)
    server = replace(server, transport=replace(server.transport, env={"KEY": "canary-5f1e77aa"}))
    async with watched(server) as seen:
        good(await alice(seen).call("work_act", {}))
        async with fail_after(10, "the log"):
            while not any(line.kind == "stderr" for line in (await _server(seen, "work")).log):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        detail = await _server(seen, "work")
        assert await seen.views.server("none such") is None

    assert any("my key is" in line.text for line in detail.log)
    assert b"canary" not in msgspec.json.encode(detail)
    assert [tool.tool for tool in detail.tools] == ["act"]
    assert [link.user for link in detail.links] == ["alice"]


async def _server(seen: Watched, name: str) -> ServerDetail:
    found = await seen.views.server(name)
    assert found is not None
    return found


async def heard(news: AsyncGenerator[News], topic: str) -> News:
    async with fail_after(10, f"news of {topic}"):
        async for each in news:
            if topic in each.topics:
                return each
    raise AssertionError("news never end")


@pytest.mark.requirement("OBS-3")
async def test_a_page_hears_of_calls_raises_and_asks_and_knows_what_it_missed(tmp_path: Path):
    async with watched(obeying(tmp_path / "log", ask=("asked",))) as seen:
        session = alice(seen)
        async with aclosing(seen.views.news()) as news:
            first = await anext(news)
            good(await session.call("work_act", {"n": 1}))
            told = await heard(news, "calls")
            await session.add_private_dataset("payroll", CONFIDENTIAL)
            await heard(news, "sessions")
        async with aclosing(seen.views.news(told.id)) as later:
            missed = await anext(later)
        async with aclosing(seen.views.news("0badf00d.7")) as other:
            restarted = await anext(other)

    assert (first.reload, first.calls) == (False, ())
    assert [call.name for call in told.calls] == ["work_act"]
    assert "sessions" in missed.topics
    assert missed.calls == ()
    assert restarted.reload, "this is another feed than the page knew"


@pytest.mark.requirement("OBS-3")
async def test_calls_servers_and_sessions_are_found(tmp_path: Path):
    async with watched(obeying(tmp_path / "log"), obeying(tmp_path / "b", name="other")) as seen:
        good(await alice(seen).call("work_act", {"n": 1}))
        good(await seen.runtime.session("bob", "s-2").call("other_act", {"n": 1}))
        plain = await seen.views.search("work")
        filtered = await seen.views.search("server:other user:bob")
        nothing = await seen.views.search("server:other user:alice")
        odd = await seen.views.search("colour:red")

    assert ([row.name for row in plain.servers], [row.name for row in plain.calls]) == (["work"], ["work_act"])
    assert [row.name for row in filtered.calls] == ["other_act"]
    assert nothing.calls == ()
    assert "there is no field" in odd.problem


@pytest.mark.requirement("OBS-3")
async def test_words_of_callers_and_servers_are_in_no_view(tmp_path: Path):
    word = "canary-5f1e77aa"
    error = {"error": {"code": -32000, "message": word, "data": {"seen": word}}}
    life = {"tools/list": [listing(a_tool("act"))], "tools/call": [DONE, error, {"stderr": word, "exit": 3}]}
    server = scripted(tmp_path, life)
    async with watched(server) as seen:
        session = alice(seen)
        good(await session.call("work_act", {word: 1, "nested": {word: word}}))
        for name in ("work_act", "work_act", f"work_{word}", word):
            assert not (await session.call(name, {"x": word})).ok
        assert not (await session.read(f"note://{word}")).ok
        assert not (await session.prompt(word, {"who": word})).ok
        rows = (await seen.views.timeline()).calls
        shown = [rows, await seen.views.tools(), await seen.views.sessions(), await seen.views.search("work")]
        details = [await seen.views.call(row.id) for row in rows]

    assert len(rows) == 7
    assert word.encode() not in msgspec.json.encode([shown, details])


@pytest.mark.requirement("OBS-3")
async def test_however_many_calls_there_were_the_last_ten_thousand_are_kept(tmp_path: Path, events: Events):
    async with watched(obeying(tmp_path / "log"), events=events) as seen:
        good(await alice(seen).call("work_act", {"n": 1}))
        for _ in range(25_000):
            seen.feed.note(events.call)
        overview, timeline = await seen.views.overview(), await seen.views.timeline(most=10)

    assert (overview.calls, overview.kept) == (25_001, 10_000)
    assert (len(timeline.calls), timeline.more) == (10, 9_990)
