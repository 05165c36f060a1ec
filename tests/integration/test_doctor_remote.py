"""Doctor on servers at an address: the token is missing, wrong or over; the certificate has expired, is for another
name, or is signed by nobody. The servers are real, and so is their TLS."""

import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from ssl import SSLContext

import pytest

from support.certificates import authority, self_signed
from support.doctor import HOME, Seen, all_in_order, doctor, on_the_page
from support.guarded import guarded
from support.scenarios import entry, write_yaml

RIGHT = "Bearer right-token"


def guard(authorization: str) -> str | None:
    """Lets one token in. Of others it says as much as most servers do."""
    if authorization == RIGHT:
        return None
    return 'Bearer error="invalid_token"' if authorization else "Bearer"


def jwt(**claims: object) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims))
    return f"Bearer {'.'.join(parts)}.signature"


@pytest.mark.parametrize(
    ("token", "message", "cause"),
    [
        ("Bearer wrong-token", "the server refuses the token that was sent (HTTP 401)", "mistyped"),
        (jwt(exp=1_700_000_000), "the token that was sent has expired (HTTP 401)", "good until 2023-11-14 22:13 UTC"),
    ],
    ids=["wrong", "expired"],
)
async def test_a_token_that_is_not_taken(tmp_path: Path, token: str, message: str, cause: str):
    async with guarded(guard=guard) as url:
        write_yaml(tmp_path, {"notes": {"url": url, "headers": {"Authorization": "${NOTES_TOKEN}"}}})
        found = await doctor(tmp_path, NOTES_TOKEN=token)
        (check,) = found.problems

        assert (found.code, check.subject, check.status) == (3, "server notes", "fail")
        assert f"{message} (" in check.message
        assert cause in check.message
        assert check.evidence == 'HTTP 401, WWW-Authenticate: Bearer error="invalid_token"'
        assert check.fix.endswith("headers.Authorization of this server")
        assert token not in found.checks.__repr__()
        if "wrong" in token:
            on_the_page("A bad token", found, {str(tmp_path): HOME})
        assert all_in_order(await doctor(tmp_path, NOTES_TOKEN=RIGHT))


async def test_a_token_that_is_missing(tmp_path: Path):
    async with guarded(guard=guard) as url:
        write_yaml(tmp_path, {"notes": {"url": url}})
        (check,) = (await doctor(tmp_path)).problems

        assert "the server wants a login (HTTP 401)" in check.message
        assert check.evidence == "HTTP 401, WWW-Authenticate: Bearer"
        assert "`bascule login notes`" in check.fix
        write_yaml(tmp_path, {"notes": {"url": url, "headers": {"Authorization": RIGHT}}})
        assert all_in_order(await doctor(tmp_path))


async def test_headers_that_a_command_prints_are_tried(tmp_path: Path):
    async with guarded(guard=guard) as url:
        printing = ["sh", "-c", "echo no vault >&2; exit 3"]
        write_yaml(tmp_path, {"notes": {"url": url, "headers_command": printing}})
        (check,) = (await doctor(tmp_path)).problems

        assert "`headers_command` gave no headers: it ended with 3" in check.message
        assert check.evidence == "no vault"
        (tmp_path / "printed").write_text(json.dumps({"Authorization": RIGHT}))
        write_yaml(tmp_path, {"notes": {"url": url, "headers_command": ["cat", str(tmp_path / "printed")]}})
        found = await doctor(tmp_path)
        assert found.ok
        # That is worth a word to whoever runs it, and no fault.
        assert [check.message.partition(",")[0] for check in found.problems] == [
            "its headers are printed by `headers_command`"
        ]


@asynccontextmanager
async def secured(folder: Path, context: SSLContext, host: str = "localhost") -> AsyncGenerator[str]:
    """A server that shows a certificate, named in the config by this host. Gives its port."""
    async with guarded(context) as url:
        write_yaml(folder, {"notes": {"url": url.replace("localhost", host)}})
        yield url.rpartition(":")[2].partition("/")[0]


def only(found: Seen) -> tuple[str, str, str]:
    (check,) = found.problems
    assert (found.code, check.subject, check.status) == (3, "server notes", "fail")
    return check.message, check.evidence, check.fix


@pytest.mark.long
async def test_a_certificate_that_has_expired(tmp_path: Path):
    signs = authority(tmp_path)
    trusting = {"SSL_CERT_FILE": str(signs.file)}
    async with secured(tmp_path, signs.server(begins=-90, ends=-3)) as port:
        found = await doctor(tmp_path, **trusting)
        message, evidence, fix = only(found)

        assert "(its certificate has expired)" in message
        assert "TLS: certificate has expired (OpenSSL 10)" in evidence
        assert "certificate for localhost, signed by CN=Tests, good from " in evidence
        assert fix.startswith("renew the certificate of the server")
        on_the_page("A certificate that has expired", found, {port: "8443"})
    async with secured(tmp_path, signs.server()):
        assert all_in_order(await doctor(tmp_path, **trusting))


@pytest.mark.long
async def test_a_certificate_that_nobody_else_has_signed(tmp_path: Path):
    file = tmp_path / "own.pem"
    async with secured(tmp_path, self_signed(file)):
        message, evidence, fix = only(await doctor(tmp_path))

        assert "(its certificate is signed by nobody but itself)" in message
        assert "signed by CN=localhost" in evidence
        assert "SSL_CERT_FILE" in fix
        assert all_in_order(await doctor(tmp_path, SSL_CERT_FILE=str(file)))


@pytest.mark.long
async def test_a_certificate_for_another_host_name(tmp_path: Path):
    signs = authority(tmp_path)
    trusting = {"SSL_CERT_FILE": str(signs.file)}
    async with secured(tmp_path, signs.server(), "127.0.0.1") as port:
        message, evidence, fix = only(await doctor(tmp_path, **trusting))

        assert "(its certificate is not for this address)" in message
        assert "certificate for localhost," in evidence
        assert fix == "write a name into the URL that the certificate is for"
        write_yaml(tmp_path, {"notes": {"url": f"https://localhost:{port}/mcp"}})
        assert all_in_order(await doctor(tmp_path, **trusting))


@pytest.mark.long
async def test_a_certificate_that_ends_soon_is_worth_a_word(tmp_path: Path):
    signs = authority(tmp_path)
    async with secured(tmp_path, signs.server(ends=3)):
        found = await doctor(tmp_path, SSL_CERT_FILE=str(signs.file))
        (check,) = found.problems

        assert (found.ok, check.subject, check.status) == (True, "certificate notes", "warn")
        assert check.message == "its certificate ends in 3 days"


async def test_tls_where_nobody_speaks_it(tmp_path: Path):
    async with guarded() as url:
        write_yaml(tmp_path, {"notes": {"url": url.replace("http://", "https://")}})
        message, _, fix = only(await doctor(tmp_path))

        assert "(the server does not speak TLS at this port)" in message
        assert fix.startswith("write http:// ")
        write_yaml(tmp_path, {"notes": {"url": url}})
        assert all_in_order(await doctor(tmp_path))


async def test_a_server_that_fails_leaves_the_others_checked(tmp_path: Path):
    async with guarded(guard=guard) as url:
        write_yaml(tmp_path, {"notes": {"url": url}, "echo": entry("echo")})
        found = await doctor(tmp_path)

        assert [check.subject for check in found.problems] == ["server notes"]
        assert found.of("server echo").status == "ok"
