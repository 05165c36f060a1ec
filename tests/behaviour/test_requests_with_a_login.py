"""Requests on behalf of somebody who is logged in."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from bascule.core.errors import LoginNeeded, PeerRefused, PermitLost
from support.fake_login import Handler
from support.http_links import Leave, ask, http_link
from support.login_place import place


async def test_a_login_says_who_we_are_and_nobody_else_does(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        await link.send(ask(headers={"authorization": "Bearer a-callers"}))

        assert at.fake.authorizations[-1] == "Bearer access-token-1"


async def test_a_callers_token_does_not_pass_while_nobody_is_logged_in(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=at.credentials()) as link:
        with pytest.raises(LoginNeeded, match="wants a login") as caught:
            await link.send(ask(headers={"authorization": "Bearer a-callers"}))

        assert at.fake.authorizations == [""]
        assert caught.value.fix == "run `bascule login notes`"
        assert not link.lost.done()


async def test_a_refused_token_is_renewed_and_the_request_sent_once_more(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.fake.good.clear()
        assert await link.send(ask()) == {"ok": True}

        assert at.fake.authorizations[-2:] == ["Bearer access-token-1", "Bearer access-token-2"]


async def test_a_spent_token_is_renewed_before_anything_is_sent(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        before = len(at.fake.authorizations)
        at.spend()
        await link.send(ask())

        assert at.fake.authorizations[before:] == ["Bearer access-token-2"]


async def test_many_requests_with_one_refused_token_renew_it_once(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.fake.good.clear()
        await asyncio.gather(*(link.send(ask()) for _ in range(20)))

        assert at.fake.refreshes == 1


async def test_a_login_that_is_over_ends_the_link(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.fake.good.clear()
        at.fake.refresh = "gone"
        with pytest.raises(LoginNeeded, match="no longer valid"):
            await link.send(ask())

        assert isinstance(link.lost.result(), LoginNeeded)


async def test_a_server_that_is_never_content_is_not_asked_for_ever(tmp_path: Path):
    async with place(tmp_path) as at:
        credentials = at.credentials(on_login=at.fake.browser)
        async with http_link(at.fake.url, login=credentials) as link:
            at.fake.scopes_needed = {"impossible"}
            at.fake.token = {"scope": "notes"}
            at.fake.answers["/authorize"] = granting_nothing_more(at.fake._authorize)
            with pytest.raises(LoginNeeded, match="impossible"):
                await link.send(ask())

        assert len(at.fake.authorizations) == 3


def granting_nothing_more(authorize: Handler) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await authorize(request.clone(rel_url=request.rel_url.update_query(scope="notes")))

    return answer


@pytest.mark.parametrize("status", [400, 403, 404, 500, 503])
async def test_an_answer_other_than_a_demand_is_never_followed_by_a_second_request(tmp_path: Path, status: int):
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status)

    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        before = len(at.fake.asked)
        at.fake.answers["/mcp"] = refuse
        with pytest.raises((PeerRefused, LoginNeeded)):
            await link.send(ask())

        assert at.fake.asked[before:] == [("/mcp", "")]


async def test_a_request_sent_again_asks_for_leave_again(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.fake.good.clear()
        with pytest.raises(PermitLost):
            await link.send(ask(permit=Leave(True, False)))

        assert at.fake.authorizations[-1] == "Bearer access-token-1"


async def test_a_stream_is_opened_and_a_session_ended_as_the_same_user(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.fake.good.clear()
        (await link._endpoint.get(None)).close()
        await link._endpoint.delete()

        assert at.fake.authorizations[-3:] == [
            "Bearer access-token-1",
            "Bearer access-token-2",
            "Bearer access-token-2",
        ]


async def test_a_stream_that_is_refused_fails_nothing(tmp_path: Path):
    async with place(tmp_path) as at, http_link(at.fake.url, login=at.credentials()) as link:
        assert (await link._endpoint.get(None)).status == 401


async def test_a_login_server_out_of_order_fails_no_stream_by_itself(tmp_path: Path):
    async def out_of_order(request: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    async with place(tmp_path) as at, http_link(at.fake.url, login=await at.logged_in()) as link:
        at.spend()
        at.fake.answers["/token"] = out_of_order
        at.fake.good.clear()

        assert (await link._endpoint.get(None)).status == 401
