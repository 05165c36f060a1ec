"""What is wrong with a certificate, told by servers that really show it."""

import ssl
from pathlib import Path

import pytest
from aiohttp import ClientConnectorSSLError
from aiohttp.client_reqrep import ConnectionKey

from bascule.core.errors import ConnectFailed
from bascule.transports.http.errors import TRUST, tls_reason, tls_told
from support.certificates import authority, self_signed
from support.guarded import guarded
from support.http_links import LONG, ask, http_link
from support.waiting import fail_after

KEY = ConnectionKey("h.test", 443, True, True, None, None, None)


async def failure(context: ssl.SSLContext, host: str = "localhost") -> ConnectFailed:
    async with fail_after(LONG), guarded(context) as url, http_link(url.replace("localhost", host)) as link:
        with pytest.raises(ConnectFailed) as failed:
            await link.send(ask())
        return failed.value


async def test_a_certificate_that_only_signed_itself_can_be_trusted_by_a_variable(tmp_path: Path):
    error = await failure(self_signed(tmp_path / "own.pem"))

    assert error.cause == "its certificate is signed by nobody but itself"
    assert "self-signed certificate" in error.evidence.replace("self signed", "self-signed")
    assert error.fix == TRUST


async def test_an_authority_that_is_not_known_is_told_from_that(tmp_path: Path):
    error = await failure(authority(tmp_path).server())

    assert error.cause == "its certificate is signed by an authority that this machine does not know"


def error_of(reason: ssl.SSLError) -> ClientConnectorSSLError:
    return ClientConnectorSSLError(KEY, reason)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "not good yet"),
        (10, "has expired"),
        (62, "another host name"),
        (64, "not for this address"),
        (23, "not acc"),
    ],
)
def test_every_flaw_has_its_words(code: int, words: str):
    flaw = ssl.SSLCertVerificationError(1, "no")
    flaw.verify_code, flaw.verify_message = code, "why"
    cause, fix = tls_reason(error_of(flaw))

    assert words in cause
    assert fix
    assert tls_told(error_of(flaw)) == f"TLS: why (OpenSSL {code})"


def test_what_has_nothing_to_do_with_a_certificate_says_so():
    plain = ssl.SSLError(1, "x")
    plain.reason = "WRONG_VERSION_NUMBER"

    assert tls_reason(error_of(plain))[0] == "the server does not speak TLS at this port"
    assert tls_told(error_of(plain)) == "TLS: WRONG_VERSION_NUMBER"
    assert tls_reason(error_of(ssl.SSLError(1, "x")))[0] == "the TLS handshake failed"
