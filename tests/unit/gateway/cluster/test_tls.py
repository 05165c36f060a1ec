"""What gateways speak TLS with: files that the others would not believe are known before anybody is served."""

import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import ExtendedKeyUsageOID

from bascule.core.errors import ConfigError
from bascule.gateway.cluster.tls import InnerTls, TlsFiles, tls_for
from support.certificates import Authority, authority, self_signed
from support.waiting import fail_after

URL = "https://localhost:9100"


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path)


def files(ours: Authority, pair: Path) -> TlsFiles:
    return TlsFiles(str(pair), str(pair.with_suffix(".key")), str(ours.file))


def other(folder: Path) -> Authority:
    (folder / "other").mkdir()
    return authority(folder / "other")


def test_plain_http_needs_no_files_and_takes_none(ours: Authority):
    assert tls_for("http://localhost:9100", TlsFiles()) is None
    assert tls_for("", TlsFiles()) is None
    with pytest.raises(ConfigError, match="--internal-ca is of no use without"):
        tls_for("http://localhost:9100", TlsFiles(authority=str(ours.file)))


def test_https_wants_all_of_them(ours: Authority):
    with pytest.raises(ConfigError, match="needs --internal-cert, --internal-key too"):
        tls_for(URL, TlsFiles(authority=str(ours.file)))


def test_one_that_all_would_believe_is_used(ours: Authority):
    made = tls_for(URL, files(ours, ours.pair()))
    assert made is not None
    assert (made.listening.verify_mode, made.asking.verify_mode) == (ssl.CERT_REQUIRED, ssl.CERT_REQUIRED)
    assert made.asking.check_hostname


@pytest.mark.parametrize(
    ("begins", "ends", "name", "cause"),
    [
        (-30, -1, "localhost", "has expired"),
        (1, 30, "localhost", "is not good yet"),
        (-30, 30, "elsewhere.test", "is for another host name"),
    ],
)
def test_a_certificate_that_others_would_not_believe_is_refused(
    ours: Authority, begins: int, ends: int, name: str, cause: str
):
    with pytest.raises(ConfigError, match="other gateways would not talk to this one") as refused:
        tls_for(URL, files(ours, ours.pair(name, begins=begins, ends=ends)))
    error = refused.value
    assert cause in error.cause
    assert (error.where, error.evidence[:5]) == ("--internal-cert", "TLS: ")
    assert "signed for localhost" in error.fix


@pytest.mark.parametrize("usage", [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
def test_a_certificate_has_to_be_good_for_both_sides(ours: Authority, usage: object):
    with pytest.raises(ConfigError, match="would not talk") as refused:
        tls_for(URL, files(ours, ours.pair(usage=usage)))
    assert "purpose" in refused.value.evidence


def test_one_that_another_authority_or_nobody_has_signed_is_refused(ours: Authority, tmp_path: Path):
    self_signed(tmp_path / "own.pem")
    for pair in (other(tmp_path).pair(), tmp_path / "own.pem"):
        with pytest.raises(ConfigError, match="would not talk"):
            tls_for(URL, files(ours, pair))


def test_files_that_cannot_be_read_or_do_not_belong_together_are_named(ours: Authority, tmp_path: Path):
    pair, garbage = ours.pair(), tmp_path / "garbage.pem"
    garbage.write_text("no certificate")
    key, gone = str(pair.with_suffix(".key")), str(tmp_path / "gone")
    strange = str(other(tmp_path).pair().with_suffix(".key"))
    given = {
        "--internal-ca": [TlsFiles(str(pair), key, str(garbage)), TlsFiles(str(pair), key, gone)],
        "--internal-cert": [TlsFiles(str(garbage), key, str(ours.file)), TlsFiles(str(pair), strange, str(ours.file))],
        "--internal-key": [TlsFiles(str(pair), gone, str(ours.file))],
    }
    for option, wrong in given.items():
        for each in wrong:
            with pytest.raises(ConfigError, match=f"{option} cannot be used") as refused:
                tls_for(URL, each)
            assert refused.value.evidence
            assert "PEM" in refused.value.fix


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(ours: Authority):
    pair = ours.pair()
    file = pair.with_suffix(".key")
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    secret = serialization.BestAvailableEncryption(b"hunter22")
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, secret))
    with pytest.raises(ConfigError, match="--internal-cert cannot be used"):
        tls_for(URL, files(ours, pair))


async def test_whoever_shows_no_certificate_of_the_authority_is_told_nothing(ours: Authority, tmp_path: Path):
    made = tls_for(URL, files(ours, ours.pair()))
    assert isinstance(made, InnerTls)
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.write(b"secret")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=made.listening)
    port = server.sockets[0].getsockname()[1]
    without = ssl.create_default_context(cafile=str(ours.file))
    strange = ssl.create_default_context(cafile=str(ours.file))
    pair = other(tmp_path).pair()
    strange.load_cert_chain(pair, pair.with_suffix(".key"))

    async def answer(context: ssl.SSLContext | None) -> bytes:
        name = "localhost" if context is not None else None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
        except OSError:
            return b""
        try:
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            return await reader.read()
        except OSError:
            return b""
        finally:
            writer.transport.abort()

    async with fail_after(20, "answers"), server:
        for context in (without, strange, None):
            assert b"secret" not in await answer(context)
        assert heard == []
        assert await answer(made.asking) == b"secret"
