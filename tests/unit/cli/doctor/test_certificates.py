"""Health checks of certificates."""

from pathlib import Path

from bascule.cli.doctor.certificates import Shown, certificate_check, certificate_insight, certificate_of
from bascule.config import ServerConfig, StreamableHttpTransport
from support.certificates import authority
from support.guarded import guarded

DAY = 86400.0
GOOD = Shown(("h.test",), "CN=x", 0.0, 100 * DAY)


async def test_a_certificate_is_read_although_nobody_trusts_it(tmp_path: Path):
    async with guarded(authority(tmp_path).server(ends=-1)) as url:
        found = await certificate_of(ServerConfig("notes", StreamableHttpTransport(url)))

    assert found is not None
    assert (found.names, found.issuer) == (("localhost",), "CN=Tests")


async def test_without_tls_there_is_none():
    async with guarded() as url:
        assert await certificate_of(ServerConfig("notes", StreamableHttpTransport(url))) is None
        secure = url.replace("http://", "https://")
        assert await certificate_of(ServerConfig("notes", StreamableHttpTransport(secure))) is None


def test_one_that_ends_soon_is_worth_a_word():
    assert [check.status for check in certificate_check("notes", GOOD, 95 * DAY)] == ["warn"]
    assert [check.status for check in certificate_check("notes", GOOD, DAY)] == ["ok"]
    assert certificate_check("notes", None, DAY) == []
    assert certificate_insight(None) == []
