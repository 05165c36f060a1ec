"""No token, a wrong one, and one whose time is over."""

import base64
import json
import time

import pytest

from bascule.core.errors import LoginNeeded
from bascule.transports.http.unauthorized import good_until
from support.guarded import guarded
from support.http_links import LONG, ask, http_link
from support.waiting import fail_after


def token(body: object) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, body)]
    return f"Bearer {'.'.join([*parts, 'signature'])}"


async def refused(challenge: str, **headers: str) -> LoginNeeded:
    async with fail_after(LONG), guarded(guard=lambda _: challenge) as url, http_link(url, headers=headers) as link:
        with pytest.raises(LoginNeeded) as failed:
            await link.send(ask())
        return failed.value


async def test_without_a_token_none_was_sent():
    error = await refused("Bearer")

    assert (error.message, error.cause) == ("the server wants a token (HTTP 401)", "none was sent")
    assert error.evidence == "HTTP 401, WWW-Authenticate: Bearer"


async def test_a_token_that_is_not_taken_is_wrong():
    error = await refused('Bearer error="invalid_token"', Authorization="Bearer secret-one")

    assert error.message == "the server refuses the token that was sent (HTTP 401)"
    assert "secret-one" not in f"{error.message}{error.evidence}{error.cause}{error.fix}"


async def test_a_token_whose_time_is_over_says_so_itself():
    error = await refused("Bearer", Authorization=token({"exp": 1_700_000_000}))

    assert error.message == "the token that was sent has expired (HTTP 401)"
    assert error.cause == "it was good until 2023-11-14 22:13 UTC"


async def test_a_server_can_say_that_the_time_of_a_token_is_over():
    said = 'Bearer error="invalid_token", error_description="The access token expired"'
    error = await refused(said, Authorization="Bearer opaque")

    assert (error.message, error.cause) == ("the token that was sent has expired (HTTP 401)", "the server says so")


async def test_a_token_that_is_still_good_and_not_taken_is_wrong():
    error = await refused("Bearer", Authorization=token({"exp": time.time() + 3600}))

    assert error.message == "the server refuses the token that was sent (HTTP 401)"


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer x", "Bearer a.b.c", "Bearer a.!.c", "Basic eDp5", token([]), token({}), token({"exp": "1"}),
     token({"exp": True}), token({"exp": -1}), token({"exp": 1e300}), "Bearer " + "a.a.a" * 5000],
)  # fmt: skip
def test_what_says_no_time_has_none(authorization: str):
    assert good_until(authorization) is None
