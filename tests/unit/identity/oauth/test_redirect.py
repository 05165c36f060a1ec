"""How a browser comes back from a login."""

from urllib.parse import urlencode

import pytest

from bascule.core.errors import LoginFailed
from bascule.identity.oauth.redirect import Granted, read_redirect

ISSUER = "https://login.example"


def back(**fields: str) -> str:
    return "http://127.0.0.1:9/callback?" + urlencode(fields)


def test_a_code_is_taken():
    assert read_redirect(back(code="c", state="s", iss=ISSUER), "s", ISSUER) == Granted("c", "s", ISSUER)


def test_a_login_server_may_leave_its_name_out():
    assert read_redirect(back(code="c", state="s"), "s", ISSUER).issuer is None


@pytest.mark.parametrize(
    "url", [back(code="c"), back(code="c", state="other"), back(code="c", state="s") + "&state=s", back(error="x")]
)
def test_another_state_is_another_login(url: str):
    with pytest.raises(LoginFailed, match="another login"):
        read_redirect(url, "s", ISSUER)


@pytest.mark.parametrize("named", ["https://evil.example", ISSUER + "/"])
def test_an_answer_of_another_issuer_is_refused(named: str):
    with pytest.raises(LoginFailed, match="another login server"):
        read_redirect(back(code="c", state="s", iss=named), "s", ISSUER)


def test_an_error_of_another_issuer_is_refused_as_that():
    with pytest.raises(LoginFailed, match="another login server"):
        read_redirect(back(error="access_denied", state="s", iss="https://evil.example"), "s", ISSUER)


def test_a_person_who_says_no_is_told_apart_from_a_server_that_does():
    with pytest.raises(LoginFailed, match="the login was denied"):
        read_redirect(back(error="access_denied", state="s"), "s", ISSUER)
    with pytest.raises(LoginFailed, match="the login server refused") as caught:
        read_redirect(back(error="invalid_scope", error_description="no such", state="s"), "s", ISSUER)

    assert caught.value.evidence == "invalid_scope: no such"


def test_no_code_is_no_login():
    with pytest.raises(LoginFailed, match="without a code"):
        read_redirect(back(state="s"), "s", ISSUER)


def test_a_code_is_not_shown():
    assert "secret-code" not in repr(Granted("secret-code", "secret-code"))
