from typing import Any
from urllib.parse import urlsplit

import pytest

from bascule.core.errors import UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.connectors import HttpSource
from bascule.kit.connectors.http.source import Origin, climbs, origin_of

PUBLIC = DataSensitivity.PUBLIC
API = HttpSource("api", "https://Example.com/v1/", PUBLIC, hosts=frozenset(["cdn.example.com", "example.com:8443"]))


def test_paths_go_below_the_base():
    for path in ("items/1", "/items/1"):
        assert API.address(path) == "https://Example.com/v1/items/1"


@pytest.mark.parametrize(
    "url",
    ["https://example.com/x", "https://CDN.example.com/x", "https://example.com:8443/", "https://example.com:443/"],
)
def test_hosts_that_are_named_may_be_asked(url: str):
    assert API.address(url) == url


@pytest.mark.parametrize(
    "url",
    ["http://example.com/", "http://cdn.example.com/", "https://cdn.example.com:8443/", "https://example.com.evil.com/",
     "https://evil.com/example.com", "https://example.com:444/", "https://evilexample.com/", "https://sub.example.com/"],
)  # fmt: skip
def test_others_may_not_and_neither_may_the_same_without_tls(url: str):
    with pytest.raises(UsageError, match="may not be asked"):
        API.address(url)


def test_from_a_plain_service_one_with_tls_may_be_asked():
    source = HttpSource("a", "http://a.test", PUBLIC, hosts=frozenset(["b.test"]))
    assert source.may_reach(Origin("https", "b.test", 443))
    assert not source.may_reach(Origin("https", "a.test", 443))


@pytest.mark.parametrize(
    "url", ["https://u:p@example.com/", "https://@example.com/", "https://example.com:0/", "https://example.com:99999/", "https:///x",
            "https://exa%6dple.com/", "https://[::1%25lo]/", "https://[0:0::1]/", "https://-a.com/", "https://a..b/", "ftp://example.com/"]
)  # fmt: skip
def test_addresses_with_more_than_a_plain_host_are_none(url: str):
    with pytest.raises(UsageError):
        origin_of(urlsplit(url))


def test_dots_climb_however_they_are_written():
    assert climbs("/a/../b")
    assert climbs("/a/%252e%252e/b")
    assert not climbs("/a/...b/c..d")


def test_what_stands_in_headers_is_not_shown():
    assert "hunter2" not in repr(HttpSource("a", "https://a.test", PUBLIC, headers={"Authorization": "hunter2"}))


@pytest.mark.parametrize(
    "wrong",
    [{"base_url": "https://a.test/?x"}, {"base_url": "a.test"}, {"base_url": "https://u@a.test"}, {"base_url": "https://a.test/../x"},
     {"methods": {"TRACE"}}, {"methods": "GET"}, {"hosts": "a.test"}, {"base_url": "https://a.test/#x"}],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_when_it_is_written(wrong: dict[str, Any]):
    given: dict[str, Any] = {"name": "api", "base_url": "https://a.test", "sensitivity": PUBLIC, **wrong}
    with pytest.raises(TypeError, match="api"):
        HttpSource(**given)
