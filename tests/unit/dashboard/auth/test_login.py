"""Login to the dashboard, CSRF checks of its forms, and security headers."""

from typing import Any

import pytest
from starlette.responses import PlainTextResponse, Response

from bascule.config.secret import Secret
from bascule.dashboard.auth.attempts import FREE, Tries
from bascule.dashboard.auth.cookies import Badges
from bascule.dashboard.auth.login import FORM, HEADERS, LARGEST_FORM, POLICY, Entrance, secured
from bascule.identity.host_origin_check import HouseRules
from support.dashboards import Browser, Replied, asked, entered

TOKEN = "a-token-of-one-s-own"
ORIGIN = "http://127.0.0.1:8470"


def turned(words: str, status: int) -> Response:
    return PlainTextResponse(words, status)


class Inside:
    """What lies behind it: tells what reached it."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope)
        await PlainTextResponse("inside")(scope, receive, send)


@pytest.fixture
def inside() -> Inside:
    return Inside()


@pytest.fixture
def app(inside: Inside) -> Entrance:
    now = 1000.0
    return Entrance(inside, Badges(Secret(TOKEN), lambda: now), HouseRules(), Tries(lambda: now), turned)


@pytest.fixture
async def browser(app: Entrance) -> Browser:
    return await entered(app, TOKEN)


def mark_of(inside: Inside) -> str:
    return inside.seen[-1]["state"]["mark"]


async def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(app: Entrance):
    answer = await asked(app, "GET", f"/dashboard/calls?a=1&token={TOKEN}&b=2")
    assert (answer.status, answer.headers["location"]) == (303, "/dashboard/calls?a=1&b=2")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/dashboard" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    app.secure = True
    assert "Secure" in (await asked(app, "GET", f"/dashboard?token={TOKEN}")).headers["set-cookie"]


async def test_the_token_leads_nowhere_else(app: Entrance):
    answer = await asked(app, "GET", f"//elsewhere.example/?token={TOKEN}")
    assert answer.headers["location"] == "/dashboard"


async def test_nobody_comes_in_without_it(app: Entrance, inside: Inside):
    for target in (
        "/dashboard",
        "/dashboard/events",
        "/dashboard?token=",
        "/dashboard?token=wrong",
        "/dashboard/enter",
    ):
        assert (await asked(app, "GET", target)).status == 401
    forged = {"cookie": f"{Badges(Secret(TOKEN), lambda: 1000.0).cookie}=1000.x.abc"}
    assert (await asked(app, "GET", "/dashboard", forged)).status == 401
    assert not inside.seen


async def test_with_the_cookie_one_is_in(browser: Browser, inside: Inside):
    assert (await browser.get("/dashboard")).text == "inside"
    assert (await browser.get("/dashboard", cookie2="x")).status == 200
    assert mark_of(inside)


async def test_a_cookie_of_another_program_is_in_nobodys_way(app: Entrance):
    cookie = (await asked(app, "GET", f"/dashboard?token={TOKEN}")).headers["set-cookie"].partition(";")[0]
    assert (await asked(app, "GET", "/dashboard", {"cookie": f'a="b; @=1; {cookie}; z=\x01'})).status == 200


async def test_pictures_and_styles_are_for_the_closed_door_too(app: Entrance):
    assert (await asked(app, "GET", "/dashboard/static/abc/style.css")).text == "inside"
    assert (await asked(app, "POST", "/dashboard/static/abc/style.css", {"origin": ORIGIN})).status != 200


async def test_who_guesses_is_not_listened_to_for_a_while(app: Entrance):
    for _ in range(FREE):
        assert (await asked(app, "GET", "/dashboard?token=guess")).status == 401
    answer = await asked(app, "GET", f"/dashboard?token={TOKEN}")
    assert (answer.status, int(answer.headers["retry-after"]) > 0) == (429, True)
    assert (await asked(app, "GET", f"/dashboard?token={TOKEN}", client="127.0.0.2")).status == 303


async def test_the_token_can_be_given_in_a_form(app: Entrance):
    said = {"origin": ORIGIN, "content-type": FORM}
    assert (await asked(app, "POST", "/dashboard/enter", said, f"token={TOKEN}".encode())).status == 303
    assert (await asked(app, "POST", "/dashboard/enter", said, b"token=wrong")).status == 401
    assert (await asked(app, "POST", "/dashboard/enter", {"content-type": FORM}, b"token=x")).status == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8470", "", "localhost@evil.example"])
async def test_a_name_that_was_made_to_lead_here_is_not_ours(browser: Browser, host: str):
    assert (await browser.get("/dashboard", host=host)).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    ],
)
async def test_a_page_of_another_origin_may_not_ask(browser: Browser, headers: dict[str, str]):
    assert (await browser.get("/dashboard", **headers)).status == 403


async def test_a_link_on_another_page_may_lead_here(browser: Browser):
    assert (
        await browser.get("/dashboard", **{"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
    ).status == 200


async def posted(browser: Browser, inside: Inside, mark: str | None = None, **headers: str) -> Replied:
    await browser.get("/dashboard")
    return await browser.post(
        "/dashboard/asks", {"mark": mark_of(inside) if mark is None else mark, "a": "ü"}, **headers
    )


async def test_a_form_of_ours_is_believed(browser: Browser, inside: Inside):
    assert (await posted(browser, inside)).status == 200
    assert inside.seen[-1]["state"]["form"]["a"] == ["ü"]
    assert (await posted(browser, inside, **{"sec-fetch-site": "same-origin"})).status == 200


@pytest.mark.parametrize("mark", ["", "x", "0" * 64])
async def test_a_form_without_the_mark_of_its_cookie_is_not(browser: Browser, inside: Inside, mark: str):
    assert (await posted(browser, inside, mark)).status == 403


async def test_the_mark_of_another_browser_is_not_enough(app: Entrance, browser: Browser, inside: Inside):
    other = await entered(app, TOKEN)
    await other.get("/dashboard")
    mark = mark_of(inside)
    assert (await posted(browser, inside, mark)).status == 403
    assert (await posted(other, inside, mark)).status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_form_on_another_site_is_refused_whatever_it_says(browser: Browser, inside: Inside, site: str):
    said = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert (await posted(browser, inside, **said)).status == 403
    assert (await posted(browser, inside, origin="https://evil.example")).status == 403


async def test_who_changes_something_says_from_where(app: Entrance, browser: Browser, inside: Inside):
    await browser.get("/dashboard")
    said = {"cookie": browser._cookie, "content-type": FORM}
    body = f"mark={mark_of(inside)}".encode()
    assert (await asked(app, "POST", "/dashboard/asks", said, body)).status == 403
    assert (await asked(app, "POST", "/dashboard/asks", {**said, "sec-fetch-site": "same-origin"}, body)).status == 200


async def test_only_a_form_of_some_size_is_read(browser: Browser, inside: Inside):
    assert (await posted(browser, inside, **{"content-type": "application/json"})).status == 415
    assert (await posted(browser, inside, **{"content-type": "text/plain"})).status == 415
    large = await browser.post("/dashboard/asks", {"mark": mark_of(inside), "a": "x" * LARGEST_FORM})
    assert large.status == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_other_methods_are_of_no_use(app: Entrance, method: str):
    assert (await asked(app, method, "/dashboard", {"origin": ORIGIN})).status == 405


async def test_every_answer_is_secured_also_that_of_a_closed_door(app: Entrance, browser: Browser):
    for answer in (await asked(app, "GET", "/dashboard"), await browser.get("/dashboard", host="evil.example")):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"


async def sent(*headers: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    told: list[Any] = []

    async def send(event: Any) -> None:
        told.append(event)

    await secured(send)({"type": "http.response.start", "status": 200, "headers": [*headers]})
    await secured(send)({"type": "http.response.body", "body": b"x"})
    assert told[1] == {"type": "http.response.body", "body": b"x"}
    return dict(told[0]["headers"])


async def test_nothing_runs_or_is_shown_that_is_not_ours():
    headers = await sent()
    assert headers == HEADERS
    assert headers[b"content-security-policy"].decode() == POLICY
    assert POLICY.startswith("default-src 'none'")
    words = {word for part in POLICY.split("; ") for word in part.split(" ")[1:]}
    assert words == {"'none'", "'self'"}
    assert "frame-ancestors 'none'" in POLICY


async def test_only_how_long_it_is_kept_is_for_an_answer_to_say():
    headers = await sent((b"cache-control", b"public"), (b"content-type", b"text/css"))
    assert headers[b"cache-control"] == b"public"
    assert headers[b"content-security-policy"].decode() == POLICY
    assert (await sent())[b"cache-control"] == b"no-store"
