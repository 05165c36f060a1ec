"""What an operator sees of a runtime that runs."""

import asyncio
from pathlib import Path

import pytest

from bascule.core.errors import ConfigError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import LONGEST_REASON
from bascule.core.sensitivity import DataSensitivity
from bascule.policy.verdict import Allow
from support.runtime import obeying, running
from support.waiting import fail_after, until

SECRET = DataSensitivity.SECRET


async def test_what_is_foreseen_is_decided_by_the_rules(tmp_path: Path):
    async with running(obeying(tmp_path / "log", sandbox="none")) as runtime:
        session = runtime.session("alice", "s-1")
        await session.tools()
        seen = runtime.oversight
        standing = seen.session(session.principal)
        assert standing is not None
        (now,), (then,) = seen.foresee(standing, DataSensitivity.PUBLIC), seen.foresee(standing, SECRET)

    assert isinstance(now.verdict, Allow)
    assert not isinstance(then.verdict, Allow)
    assert then.facts.level is SECRET


async def test_nobody_is_raised_approved_or_answered_that_is_not_there(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        seen = runtime.oversight
        await runtime.session("alice", "s-1").begin()
        with pytest.raises(UsageError, match="no agent session"):
            await seen.raise_to(Principal("bob", "s-1"), SECRET, "olga")
        with pytest.raises(UsageError, match="characters"):
            await seen.raise_to(Principal("alice", "s-1"), SECRET, "olga", "x" * (LONGEST_REASON + 1))
        with pytest.raises(ConfigError, match="no lock"):
            await seen.approve("work", {"act": "d"}, "olga")
        with pytest.raises(UsageError, match="any more"):
            seen.answer("none", "olga", agree=True)
        assert await seen.log("../other", 10) == ()
    with pytest.raises(UsageError, match="not running"):
        _ = runtime.oversight


async def test_requests_under_way_are_known_once_somebody_wants_to_see_them(tmp_path: Path):
    server = obeying(tmp_path / "log", sandbox="none", ask=("act",))
    async with fail_after(20), running(server, on_ask=never) as runtime:
        session, seen = runtime.session("alice", "s-1"), runtime.oversight
        seen.desk.attended = True
        before = asyncio.ensure_future(session.call("work_act", {}))
        await until(lambda: len(seen.desk.waiting()) == 1)
        assert [*seen.begun(0.0)] == []
        seen.watch_requests()
        call = asyncio.ensure_future(session.call("work_act", {}))
        await until(lambda: len(seen.desk.waiting()) == 2)
        (begun,) = seen.begun(0.0)
        assert [*seen.begun(3600.0)] == []
        for task in (before, call):
            task.cancel()
        await asyncio.wait((before, call))
        assert [*seen.begun(0.0)] == []

    assert (begun.name, begun.server, begun.method, begun.waits) == ("work_act", "work", "tools/call", True)
    assert [*begun.steps] == ["resolve", "validate"]
    # By which lane it goes is decided once the person has agreed.
    assert begun.lane is None


async def never(_approval: object) -> bool:
    await asyncio.Event().wait()
    return False
