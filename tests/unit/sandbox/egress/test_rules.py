"""`egress.allow` as rules. They are read here as Envoy reads them."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.rules import address_rules, name_rules

EGRESS = Egress(allow=("allowed.test", "*.wild.test"))


def applies(rule: dict[str, Any], request: dict[str, str]) -> bool:
    match rule:
        case {"any": True}:
            return True
        case {"not_rule": inner}:
            return not applies(inner, request)
        case {"and_rules": {"rules": rules}}:
            return all(applies(each, request) for each in rules)
        case {"or_rules": {"rules": rules}}:
            return any(applies(each, request) for each in rules)
        case {"header": {"name": name, "string_match": {"safe_regex": {"regex": pattern}}}}:
            # Envoy's expressions match the whole, and a dot no end of line.
            return name in request and re.fullmatch(pattern, request[name]) is not None
        case _:
            raise AssertionError(rule)


def refused_by(egress: Egress, authority: str, method: str = "GET", scheme: str = "http") -> str:
    request = {":authority": authority, ":method": method, ":scheme": scheme}
    rules = name_rules(egress)
    assert rules["action"] == "DENY"
    for name in sorted(rules["policies"]):
        if any(applies(each, request) for each in rules["policies"][name]["permissions"]):
            return name
    return ""


@pytest.mark.parametrize(
    "authority",
    ["allowed.test", "ALLOWED.Test", "allowed.test:80", "allowed.test:443", "a.wild.test", "a.b-c.wild.test:80", "_a.wild.test"],
)  # fmt: skip
def test_what_is_listed_passes(authority: str):
    assert not refused_by(EGRESS, authority)


@pytest.mark.parametrize(
    "authority",
    [
        "", "denied.test", "wild.test", "evilwild.test", ".wild.test", "a..wild.test", "evilallowed.test", "a.allowed.test",
        "allowed.test.", "a.wild.test.", "allowed.test.denied.test", "allowed.test@denied.test", "denied.test@allowed.test",
        "allowed.test#denied.test", "allowed.test/denied.test", "allowed.test\\.denied.test", "allowed test", "allowedxtest",
        "allowed.test,denied.test", "allowed.test\n", "allowed.test:80@denied.test:80", "allowed.test:80:80",
        "user:pass@allowed.test", "ä.wild.test", "a%2e.wild.test", "denied.test/.wild.test", "x@y.wild.test", "xn--.test",
    ],
)  # fmt: skip
def test_what_is_not_listed_is_refused_by_its_host(authority: str):
    assert refused_by(EGRESS, authority) == "host"


@pytest.mark.parametrize(
    "authority",
    ["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "[::1]:80", "10.0.0.1:80", "0x7f.1:443", "0"],
)  # fmt: skip
def test_an_address_is_refused_as_one(authority: str):
    assert refused_by(EGRESS, authority) == "address"


@pytest.mark.parametrize("authority", ["allowed.test:22", "allowed.test:8080", "allowed.test:0", "allowed.test:080"])
def test_another_port_is_refused(authority: str):
    assert refused_by(EGRESS, authority) == "port"


def test_a_tunnel_names_its_port():
    assert refused_by(EGRESS, "allowed.test", "CONNECT") == "port"
    assert not refused_by(EGRESS, "allowed.test:443", "CONNECT", scheme="")


def test_what_is_asked_for_in_the_clear_is_http():
    assert refused_by(EGRESS, "allowed.test", scheme="https") == "scheme"


def test_a_port_that_is_not_written_is_80_and_must_be_listed():
    egress = Egress(allow=("allowed.test",), ports=(8080,))

    assert refused_by(egress, "allowed.test") == "port"
    assert not refused_by(egress, "allowed.test:8080")


def test_with_an_empty_list_nothing_passes():
    assert refused_by(Egress(), "") == "host"
    assert refused_by(Egress(), "allowed.test") == "host"


def test_a_request_without_a_host_is_refused():
    rules = name_rules(EGRESS)["policies"]["host"]["permissions"]

    assert any(applies(each, {":method": "GET", ":scheme": "http"}) for each in rules)


NAMES = some.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,8}[a-z0-9_])?(\.[a-z]([a-z0-9-]{0,8}[a-z0-9])?){0,3}", fullmatch=True)


@given(
    allow=some.lists(NAMES.filter(lambda name: not re.fullmatch(r"[0-9.]*|0x[0-9a-f]*", name)), max_size=4), asked=NAMES
)
def test_exactly_the_listed_names_pass(allow: list[str], asked: str):
    listed = [name for index, name in enumerate(allow) if index % 2 == 0]
    domains = [name for index, name in enumerate(allow) if index % 2]
    egress = Egress(allow=(*listed, *(f"*.{name}" for name in domains)))

    meant = asked in listed or any(asked.endswith(f".{name}") for name in domains)

    assert (refused_by(egress, asked) in {"", "address"}) == (meant or refused_by(egress, asked) == "address")


def test_what_was_not_resolved_is_refused_too():
    rules = address_rules(("10.0.0.0/8",), "key")

    assert rules["action"] == "ALLOW"
    match = rules["policies"]["resolved"]["principals"][0]["filter_state"]
    assert match == {
        "key": "key",
        "address_match": {"ranges": [{"address_prefix": "10.0.0.0", "prefix_len": 8}], "invert_match": True},
    }
