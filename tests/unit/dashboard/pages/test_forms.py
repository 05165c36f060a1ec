"""What forms do."""

import asyncio

from bascule.dashboard.pages.forms import first
from support.dashboards import entered, office, shown
from support.runtime import good
from support.waiting import fail_after, until


def test_the_first_of_several_values_counts():
    assert (first({"a": ["1", "2"]}, "a"), first({}, "a")) == ("1", "")


async def test_a_call_that_waits_is_answered_once():
    async with fail_after(20), shown(*office()) as found:
        assert found.app.beside is not None
        browser = await entered(found.app.beside[1], found.address.opening.partition("token=")[2])
        call = asyncio.ensure_future(found.session().call("mail_send", {"to": "a", "text": "b"}))
        await until(lambda: bool(found.runtime.oversight.desk.waiting()))
        (waiting,) = found.runtime.oversight.desk.waiting()
        form = {"mark": await browser.mark("/dashboard/asks"), "ask": waiting.id, "answer": "perhaps"}
        assert (await browser.post("/dashboard/asks", form)).status == 409
        assert (await browser.post("/dashboard/asks", form | {"answer": "agree"})).status == 303
        assert good(await call).text == "sent 1 to a"
        assert (await browser.post("/dashboard/asks", form | {"answer": "refuse"})).status == 409


async def test_what_cannot_be_approved_is_told():
    async with shown(*office()) as found:
        assert found.app.beside is not None
        browser = await entered(found.app.beside[1], found.address.opening.partition("token=")[2])
        call = asyncio.ensure_future(found.session().call("mail_send", {"to": "a", "text": "b"}))
        await until(lambda: bool(found.runtime.oversight.desk.waiting()))
        mark = await browser.mark("/dashboard/asks")
        call.cancel()
        for form in ({}, {"pick": "!!"}, {"pick": "YWN0.sha256", "server": "nobody"}):
            assert (await browser.post("/dashboard/catalog", {"mark": mark, **form})).status == 409


async def test_a_level_is_raised_and_never_lowered():
    async with shown(*office()) as found:
        assert found.app.beside is not None
        browser = await entered(found.app.beside[1], found.address.opening.partition("token=")[2])
        await found.session().call("notes_search", {"words": "a"})
        page = (await browser.get("/dashboard/sessions")).text
        path = "/dashboard/sessions/" + page.partition("/dashboard/sessions/")[2].partition('"')[0]
        mark = await browser.mark(f"{path}?if=secret")
        assert (await browser.post(path, {"mark": mark, "level": "other"})).status == 409
        assert (await browser.post(path, {"mark": mark, "level": "secret", "reason": "to be sure"})).status == 303
        assert found.session().sensitivity.name == "SECRET"
