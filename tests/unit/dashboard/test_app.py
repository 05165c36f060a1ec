"""The dashboard as a whole, on a runtime that runs."""

from collections.abc import AsyncGenerator

import pytest

from bascule.dashboard.pages.assets import assets
from support.dashboards import Browser, ShownOffice, a_day, asked, entered, office, shown


@pytest.fixture
async def at_the_office() -> AsyncGenerator[ShownOffice]:
    async with shown(*office()) as found:
        await a_day(found)
        yield found


def app_of(found: ShownOffice) -> object:
    assert found.app.beside is not None
    return found.app.beside[1]


async def come_in(found: ShownOffice) -> Browser:
    return await entered(app_of(found), found.address.opening.partition("token=")[2])


async def test_every_page_can_be_looked_at(at_the_office: ShownOffice):
    browser = await come_in(at_the_office)
    session = (await browser.get("/dashboard/sessions")).text.partition("/dashboard/sessions/")[2].partition('"')[0]
    pages = [
        "",
        "/calls",
        "/calls?before=3",
        f"/calls?session={session}",
        "/sessions",
        f"/sessions/{session}?if=secret",
    ]
    pages += ["/tools", "/catalog", "/asks", "/servers/notes", "/search", "/search?q=notes", "/search?q=nothing+here"]
    for page in pages:
        answer = await browser.get(f"/dashboard{page}")
        assert answer.status == 200, page
        assert "<h1" in answer.text, page


async def test_what_is_not_there_is_told_as_a_page(at_the_office: ShownOffice):
    browser = await come_in(at_the_office)
    for page in ("/nowhere", "/calls/999999", "/sessions/nobody", "/servers/none", "/calls?session=nobody"):
        answer = await browser.get(f"/dashboard{page}")
        assert (answer.status, "There is no such" in answer.text) == (404, True), page


async def test_what_was_sent_and_what_came_back_is_on_no_page(at_the_office: ShownOffice):
    browser = await come_in(at_the_office)
    listed = (await browser.get("/dashboard/calls")).text
    seqs = [part.partition('"')[0] for part in listed.split('id="call-')[1:]]
    for page in [listed, *[(await browser.get(f"/dashboard/calls/{seq}")).text for seq in seqs]]:
        for said in ("harbour", "Mr. Grey", "12 Harbour Road", "example.org"):
            assert said not in page


async def test_files_are_kept_for_ever_under_their_digest(at_the_office: ShownOffice):
    style = assets()["style.css"]
    path = f"/dashboard/static/{style.digest}/style.css"
    answer = await asked(app_of(at_the_office), "GET", path)
    assert (answer.status, "immutable" in answer.headers["cache-control"]) == (200, True)
    again = await asked(app_of(at_the_office), "GET", path, {"if-none-match": answer.headers["etag"]})
    assert (again.status, again.text) == (304, "")
    for other in ("/dashboard/static/0000/style.css", f"/dashboard/static/{style.digest}/../app.py"):
        assert (await asked(app_of(at_the_office), "GET", other)).status in {404, 401}


async def test_a_closed_door_says_where_the_token_is(at_the_office: ShownOffice):
    answer = await asked(app_of(at_the_office), "GET", "/dashboard?token=wrong")
    assert (answer.status, "dashboard.token" in answer.text) == (401, True)
