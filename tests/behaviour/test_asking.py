"""Calls that wait for a person, and refusals that say what to do."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from bascule import Accept, Runtime
from bascule.core.client_features import Approval
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from support.offers import DONE, ELICIT, offering, required
from support.runtime import Events, a_tool, at_work, bad, calls_in, good, obeying, twinned
from support.scenarios import entry, from_file, log_of, write_yaml
from support.waiting import fail_after

CONFIDENTIAL, SECRET = DataSensitivity.CONFIDENTIAL, DataSensitivity.SECRET
WAITING: dict[str, Any] = {"ask": ("act",)}


class Person:
    """Somebody who is asked, and what they were shown."""

    def __init__(self, answer: Any = True) -> None:
        self.answer = answer
        self.shown: list[Approval] = []

    def at_once(self, approval: Approval) -> Any:
        self.shown.append(approval)
        return self.answer

    async def later(self, approval: Approval) -> Any:
        await asyncio.sleep(0)
        return self.at_once(approval)


@pytest.fixture(params=["at_once", "later"])
def way(request: pytest.FixtureRequest) -> str:
    """A callback may be a function or a coroutine function."""
    return request.param


@pytest.mark.requirement("POL-5")
async def test_a_call_that_a_person_agrees_to_goes_on(tmp_path: Path, way: str):
    person, log = Person(), tmp_path / "log"
    async with at_work(obeying(log, **WAITING), on_ask=getattr(person, way)) as session:
        good(await session.call("work_act", {"n": 1}))
        good(await session.call("work_act", {"n": 2}))

    (first, second) = person.shown
    assert (first.name, first.server, first.tool) == ("work_act", "work", "act")
    assert (first.principal, first.arguments) == (Principal("alice", "s-1"), {"n": 1})
    assert second.arguments == {"n": 2}, "each call is asked about"
    assert "waits for a person" in first.message


@pytest.mark.requirement("POL-5")
@pytest.mark.parametrize("answer", [False, None, 1, "yes", Approval])
async def test_anything_but_true_refuses(tmp_path: Path, way: str, answer: Any, events: Events):
    person, log = Person(answer), tmp_path / "log"
    async with at_work(obeying(log, **WAITING), events=events, on_ask=getattr(person, way)) as session:
        failure = bad(await session.call("work_act", {"n": 1}), FailureKind.DENIED)

    assert "rule: person_agrees" in failure.evidence
    assert len(person.shown) == 1
    assert calls_in(log) == []
    assert events.call.outcome == failure


@pytest.mark.requirement("POL-5")
async def test_a_callback_that_breaks_refuses_and_what_it_raised_stays_here(tmp_path: Path):
    def broken(_: Approval) -> bool:
        raise OSError("/home/alice/secret is gone")

    async with at_work(obeying(tmp_path / "log", **WAITING), on_ask=broken) as session:
        failure = bad(await session.call("work_act", {"n": 1}), FailureKind.DENIED)

    assert "/home/alice" not in repr(failure)
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("POL-5")
@pytest.mark.parametrize("blocking", [True, False])
async def test_who_answers_too_late_has_not_agreed(tmp_path: Path, blocking: bool, monkeypatch: pytest.MonkeyPatch):
    # Five minutes, as it is.
    monkeypatch.setattr("bascule.runtime.approvals.ask.Asking.__init__.__defaults__", (None, 0.05))
    over, answered = threading.Event(), threading.Event()

    def slowly(_: Approval) -> bool:
        over.wait(30)
        answered.set()
        return True

    async def slowly_too(_: Approval) -> bool:
        await asyncio.get_running_loop().create_future()
        return True

    on_ask: Any = slowly if blocking else slowly_too
    async with at_work(obeying(tmp_path / "log", **WAITING), on_ask=on_ask) as session:
        failure = bad(await session.call("work_act", {"n": 1}), FailureKind.DENIED)
        over.set()
        assert "nobody answered" in failure.message
        if blocking:
            await asyncio.to_thread(answered.wait, 10)
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("POL-5")
async def test_where_nobody_is_there_to_be_asked_the_call_is_refused_and_others_go_on(tmp_path: Path):
    log = tmp_path / "log"
    async with at_work(obeying(log, a_tool("act"), a_tool("look"), **WAITING)) as session:
        failure = bad(await session.call("work_act"), FailureKind.DENIED)
        good(await session.call("work_look"))

    assert "on_ask" in failure.fix
    assert [params["name"] for params in calls_in(log)] == ["look"]


@pytest.mark.requirement("POL-5")
async def test_nobody_is_asked_about_what_is_refused_anyway(tmp_path: Path):
    person = Person()
    schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server = obeying(tmp_path / "log", a_tool("act", schema), a_tool("hidden"), ask=("*",), block=("hidden",))
    async with at_work(server, on_ask=person.at_once) as session:
        bad(await session.call("work_act", {"n": "one"}), FailureKind.INVALID_ARGUMENTS)
        bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)
        bad(await session.call("work_nothing"), FailureKind.UNKNOWN_TOOL)
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        bad(await session.call("work_act", {"n": 1}), FailureKind.DENIED)

    assert person.shown == []


@pytest.mark.requirement("POL-5")
async def test_what_was_shown_is_what_is_sent(tmp_path: Path):
    """The caller changes the arguments while the person thinks, and the callback changes what it was shown."""
    given: dict[str, Any] = {"rows": [1], "more": {"deep": [1]}}
    shown: list[Any] = []

    def person(approval: Approval) -> bool:
        given["rows"].append(2)
        given["more"]["deep"].append("secret")
        shown.append(repr(approval.arguments))
        approval.arguments["rows"].append(3)
        return True

    log = tmp_path / "log"
    async with at_work(obeying(log, **WAITING), on_ask=person) as session:
        for _ in range(2):
            given = {"rows": [1], "more": {"deep": [1]}}
            good(await session.call("work_act", given))

    assert shown == [repr({"rows": [1], "more": {"deep": [1]}})] * 2
    assert [params["arguments"] for params in calls_in(log)] == [{"rows": [1], "more": {"deep": [1]}}] * 2


@pytest.mark.requirement("POL-5")
async def test_a_call_is_asked_about_once_however_many_rounds_it_takes(tmp_path: Path):
    """The server asks a person something too; and private data comes in while they are asked."""
    person = Person()
    scenario = {"tools/call": [required("s", q=ELICIT), DONE]}
    pair = [offering(tmp_path, name=name, scenario=scenario, **WAITING) for name in ("work", "twin")]

    async def private(approval: Approval) -> bool:
        await session.add_private_dataset("payroll", SECRET)
        return person.at_once(approval)

    async with at_work(twinned(*pair), on_ask=private, on_elicit=lambda _: Accept({"n": 3})) as session:
        assert good(await session.call("work_act")).lane is Lane.SEALED

    assert len(person.shown) == 1
    assert calls_in(log_of(tmp_path)) == []
    assert len(calls_in(log_of(tmp_path, "twin"))) == 2


@pytest.mark.requirement("POL-5")
async def test_a_caller_may_stop_waiting_for_a_person(tmp_path: Path):
    asked = asyncio.Event()

    async def thinking(_: Approval) -> bool:
        asked.set()
        await asyncio.get_running_loop().create_future()
        return True

    async with at_work(obeying(tmp_path / "log", **WAITING), on_ask=thinking) as session:
        call = asyncio.create_task(session.call("work_act"))
        async with fail_after(10, "the question"):
            await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert calls_in(tmp_path / "log") == []


@pytest.mark.requirement("POL-5")
async def test_whom_to_ask_about_is_a_word_in_the_file(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", ask=["a*"])})
    async with from_file(path) as session:
        bad(await session.call("work_act"), FailureKind.DENIED)
    person = Person()
    async with fail_after(30, "the runtime"), Runtime.from_file(path, on_ask=person.at_once) as runtime:
        good(await runtime.session("alice", "s-1").call("work_act"))
    assert len(person.shown) == 1


# Refusals


@pytest.mark.requirement("POL-3")
@pytest.mark.parametrize("listed", [True, False], ids=["listed before", "never listed"])
async def test_a_refusal_names_the_rule_what_raised_the_level_and_what_an_operator_can_do(
    tmp_path: Path,
    listed: bool,
):
    async with at_work(obeying(tmp_path / "log")) as session:
        if listed:
            await session.connect()
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        failure = bad(await session.call("work_act"), FailureKind.DENIED)

    assert failure.code == "BSC-300"
    assert f"rule: {'data_stays_in' if listed else 'lane_exists'}" in failure.evidence
    assert "dataset 'payroll'" in failure.message
    assert "work" in failure.message
    assert "`url_isolated`" in failure.fix
    assert failure.retriable is False


@pytest.mark.requirement("POL-3")
@pytest.mark.parametrize(
    ("word", "order", "because"),
    [
        ({"raises": {"act": "secret"}}, {}, "raises rule of confined/act"),
        (
            {"trust": ("labels",)},
            {"result": {"content": [], "_meta": {"dev.bascule/labels": ["secret"]}}},
            "label of confined/act",
        ),
        ({"trust": ("labels",)}, {"exit": 1}, "no readable outcome of confined/act"),
    ],
)
async def test_whatever_raised_the_level_is_named(tmp_path: Path, word: Any, order: Any, because: str):
    confined = twinned(obeying(tmp_path / "a", name="confined", **word), obeying(tmp_path / "b"))
    async with at_work(confined, obeying(tmp_path / "c", name="loose")) as session:
        await session.connect()
        await session.call("confined_act", order)
        failure = bad(await session.call("loose_act"), FailureKind.DENIED)

    assert f"({because})" in failure.message
    assert "loose has no isolated twin" in failure.message


@pytest.mark.requirement("POL-3")
async def test_what_raised_the_level_is_named_after_a_restart_too(tmp_path: Path):
    server = obeying(tmp_path / "log")
    async with at_work(server) as session:
        await session.add_private_dataset("payroll", CONFIDENTIAL)
    async with at_work(server) as session:
        failure = bad(await session.call("work_act"), FailureKind.DENIED)
    assert "dataset 'payroll'" in failure.message


@pytest.mark.requirement("POL-3")
async def test_a_tool_that_is_denied_for_its_privacy_stays_in_the_list_and_says_so(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act"), a_tool("hidden"), block=("hidden",))) as session:
        await session.connect()
        await session.add_private_dataset("payroll", CONFIDENTIAL)
        assert [spec.name for spec in await session.tools()] == ["work_act"]
        bad(await session.call("work_act"), FailureKind.DENIED)
        hidden = bad(await session.call("work_hidden"), FailureKind.UNKNOWN_TOOL)
    assert "payroll" not in hidden.message
