"""Addresses that a private agent session may be given, and the removal of all others from a message."""

from typing import Any

import pytest

from bascule.config import Egress
from bascule.core.sensitivity import Lane
from bascule.policy.fetched_addresses import (
    REMOVED,
    REMOVED_URI,
    SEALED,
    AddressRule,
    address_rule,
    lacks_address,
    without_addresses,
)

EGRESS = Egress(allow=("allowed.test", "*.wild.test"), ports=(80, 443, 8443))
EVIL = "https://evil.test/x"


def proxied() -> AddressRule:
    rule = address_rule(Lane.PROXIED, Lane.PROXIED, EGRESS)
    assert rule is not None
    return rule


@pytest.mark.parametrize("own", Lane)
@pytest.mark.parametrize("lane", Lane)
def test_the_tighter_of_the_two_lanes_decides(own: Lane, lane: Lane):
    rule = address_rule(own, lane, EGRESS)
    if {own, lane} == {Lane.OPEN}:
        assert rule is None
    else:
        assert rule is not None
        assert rule.permits("https://allowed.test/") is (Lane.SEALED not in {own, lane})


@pytest.mark.parametrize(
    "address",
    [
        "https://allowed.test",
        "HTTPS://Allowed.TEST/a?b=c#d",
        "http://allowed.test:80/",
        "https://allowed.test:8443",
        "https://a.b.wild.test/",
    ],
)
def test_an_allowed_host_on_an_allowed_port_is_permitted(address: str):
    assert proxied().permits(address)
    assert not proxied().removes(address)
    assert not SEALED.permits(address)


@pytest.mark.parametrize(
    "address",
    [
        EVIL,
        "https://allowed.test.evil.test/",
        "https://wild.test/",
        "https://allowed.test:22/",
        "https://allowed.test:99999/",
        "wss://allowed.test/",
        "ui://allowed.test/",
        # Programs disagree about the host of these.
        "https://allowed.test@evil.test/",
        "https://evil.test\\@allowed.test/",
        "https://evil.test/\\@allowed.test/",
        "https:/allowed.test/",
        "https:allowed.test",
        "https://allowed.test\t.evil.test/",
        "https://allowed.test\n",
        " https://allowed.test/",
        "https://allowed.test／evil.test",
        "https://[::1]/",
        "//allowed.test/",
        "\\\\evil.test\\share",
        "ht\ntps://evil.test/",
        "file://evil.test/share",
        "file:////evil.test/share",
        "git+https://evil.test/",
    ],
)
def test_any_other_address_is_removed(address: str):
    assert not proxied().permits(address)
    assert proxied().removes(address)


@pytest.mark.parametrize(
    "text",
    ["note://1", "file:///work/a.txt", "git://repository/a", "urn:x", "data:image/png;base64,AA", "", "a/b", "/a"],
)
def test_names_of_a_server_and_local_files_are_none(text: str):
    assert not SEALED.removes(text)


def test_without_allowed_hosts_nothing_is_permitted():
    rule = address_rule(Lane.PROXIED, Lane.OPEN, Egress())
    assert rule is not None
    assert not rule.permits("https://a.test/")
    assert not rule.permits("https:///")


def cleaned(message: dict[str, Any], rule: AddressRule = SEALED, asked: str = "") -> dict[str, Any]:
    before = repr(message)
    found, places = without_addresses(message, rule, asked)
    assert repr(message) == before, "the message itself is not changed"
    assert bool(places) is (found is not message)
    return found


def test_a_message_without_addresses_is_the_same_object():
    message = {"content": [{"type": "text", "text": EVIL}], "structuredContent": {"url": EVIL}, "isError": False}
    assert cleaned(message) is message


@pytest.mark.parametrize("name", ["content", "contents", "input", "text", "completion", "message", "_meta", "icons"])
def test_the_name_of_a_question_hides_nothing(name: str):
    params = {"mode": "url", "message": "m", "url": EVIL}
    question = {"method": "elicitation/create", "params": params}
    found = cleaned({"inputRequests": {name: question}})["inputRequests"][name]
    assert found == {"method": "elicitation/create", "params": {"mode": "url", "message": "m"}}
    assert lacks_address(found["method"], found["params"])
    assert not lacks_address("elicitation/create", params)


@pytest.mark.parametrize(
    "source", ["data:image/svg+xml,<svg/>", "data:text/html,x", "note://icon", "", None, "javascript:x", EVIL]
)
def test_an_icon_that_is_not_its_own_picture_goes(source: Any):
    assert cleaned({"icons": [{"src": source}]}) == {}
    assert cleaned({"icons": source or EVIL}) == {}


def test_an_icon_that_is_a_picture_or_is_allowed_stays():
    icons = {"icons": [{"src": "data:image/png;base64,AA"}, {"src": "https://allowed.test/a.png"}]}
    assert cleaned(icons, proxied()) is icons
    assert cleaned({"icons": [{"src": "data:image/png;base64,AA", "dark": EVIL}]}) == {}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": EVIL}},
        {"type": "image_url", "image_url": {"url": EVIL}},
        {"type": "image", "data": EVIL},
        {"type": "resource", "resource": {"uri": "note://1", "text": "x", "mimeType": "text/html;profile=mcp-app"}},
        {"type": "resource", "resource": {"uri": " UI://page", "blob": "AA"}},
        {"type": "resource", "resource": {"uri": EVIL}},
    ],
)
def test_a_block_that_needs_its_address_goes_as_a_whole(block: dict[str, Any]):
    gone = {"type": "text", "text": REMOVED}
    assert cleaned({"content": [block]}) == {"content": [gone]}
    assert cleaned({"messages": [{"role": "user", "content": block}]})["messages"][0]["content"] == gone
    nested = {"type": "tool_result", "toolUseId": "1", "content": [block]}
    assert cleaned({"content": [nested]})["content"][0]["content"] == [gone]


def test_contents_are_kept_under_another_uri_unless_the_client_gave_it():
    message = {"contents": [{"uri": EVIL, "blob": "AA"}]}
    assert cleaned(message)["contents"] == [{"uri": REMOVED_URI, "blob": "AA"}]
    assert cleaned(message, asked=EVIL) is message


def test_base64_that_begins_like_an_address_stays():
    message = {"content": [{"type": "audio", "data": "//uQxAAA", "mimeType": "audio/mpeg"}]}
    assert cleaned(message) is message


@pytest.mark.parametrize("name", ["more", "content"])
def test_no_nesting_of_blocks_hides_an_address(name: str):
    deep: Any = {"content": [{"type": "image", "url": EVIL}]}
    for _ in range(100):
        deep = {"content": [{"type": "tool_result", name: [deep]}]}
    found, places = without_addresses(deep, SEALED)
    assert len(places) == 1
    assert "evil.test" not in repr(found)


def test_what_is_nested_too_deep_goes():
    deep: Any = {"url": EVIL}
    for _ in range(2000):
        deep = {"a": [deep]}
    found, places = without_addresses(deep, SEALED)
    assert len(places) == 1
    depth = 0
    while found:
        found, depth = (found.get("a") or [{}])[0], depth + 1
    assert depth < 64


def test_a_place_is_safe_to_print():
    _, places = without_addresses({"\x1b[2J": {"x" * 100: EVIL}, "ok": EVIL}, SEALED)
    assert places == ("….…", "ok")
