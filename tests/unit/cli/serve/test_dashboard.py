"""Dashboard of `bascule serve` and `bascule up`."""

import aiohttp
import pytest

from bascule.cli.serve import dashboard
from bascule.cli.serve.dashboard import MISSING, Address, feed_for
from bascule.config.model.gateway import DashboardSettings
from support.dashboards import office, shown


def test_there_is_none_where_the_config_says_so():
    told: list[str] = []
    assert feed_for(DashboardSettings(enabled=False), told.append) is None
    assert feed_for(DashboardSettings(), told.append) is not None
    assert not told


def test_a_missing_extra_is_told_in_one_line_with_the_command(monkeypatch: pytest.MonkeyPatch):
    told: list[str] = []
    monkeypatch.setattr(dashboard, "NEEDS", ("jinja2", "no_such_package_anywhere"))
    assert feed_for(DashboardSettings(), told.append) is None
    assert told == [MISSING]
    assert "bascule[ui]" in MISSING


def test_what_goes_into_logs_has_no_token():
    address = Address("http://h/dashboard", "http://h/dashboard?token=t0p", "in a file")
    assert "t0p" in address.told(openly=True)
    assert "t0p" not in address.told(openly=False)
    assert "in a file" in address.told(openly=False)


async def test_it_stands_beside_the_endpoint_and_takes_nothing_from_it():
    async with shown(*office()) as found, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with http.get(found.address.opening) as answer:
            assert (answer.status, str(answer.url)) == (200, found.address.plain)
        async with http.get(f"{found.origin}/healthz") as answer:
            assert answer.status == 200
        found.app.beside = None
        async with http.get(found.address.plain) as answer:
            assert answer.status == 404
