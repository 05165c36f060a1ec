"""What is done by whichever worker can."""

import asyncio

from bascule.core.sensitivity import DataSensitivity
from support.dashboards import office
from support.runtime import good
from support.waiting import fail_after, until
from support.watched import session_id
from support.workers_shown import pair


async def test_a_call_that_waits_at_another_worker_is_answered_here():
    async with fail_after(60), pair(*office()) as found:
        bob = found.two.runtime.session("bob", "s-1")
        call = asyncio.ensure_future(bob.call("mail_send", {"to": "ann", "text": "hi"}))
        await until(lambda: len(found.two.runtime.oversight.desk.waiting()) == 1)
        (waiting,) = await found.views.asks()
        deed = await found.deeds.answer(waiting.id, agree=True, by="olga")
        assert deed.ok, deed
        assert good(await call).text == "sent 2 to ann"
        again = await found.deeds.answer(waiting.id, agree=True, by="olga")
        assert (again.ok, "any more" in again.told) == (False, True)


async def test_an_agent_session_of_another_worker_is_raised_here():
    async with fail_after(60), pair(*office()) as found:
        bob = found.two.runtime.session("bob", "s-1")
        await bob.begin()
        deed = await found.deeds.raise_session(session_id(bob.principal), DataSensitivity.SECRET, by="olga")
        assert deed.ok, deed
        assert bob.sensitivity is DataSensitivity.SECRET


async def test_what_nobody_can_do_is_told_by_the_one_who_was_asked():
    async with fail_after(60), pair(*office()) as found:
        assert not (await found.deeds.approve("notes", {"search": "x"}, by="olga")).ok
        found.wire.silent.add("two")
        assert not (await found.deeds.answer("none", agree=True, by="olga")).ok
