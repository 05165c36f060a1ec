"""Entries of other programs' files, told in our keys."""

from typing import Any

import pytest

from bascule.config.loading.client_formats import draft_foreign, is_disabled
from bascule.config.loading.server_draft import Draft
from bascule.config.problems import Problems


def drafted(raw: Any, name: str = "a") -> tuple[Draft, list[str]]:
    problems = Problems("f")
    draft = draft_foreign(name, raw, ("mcpServers", name), problems)
    assert draft is not None
    return draft, [problem.told for problem in problems.found]


def given(raw: Any) -> dict[str, Any]:
    draft, told = drafted(raw)
    assert told == []
    return {key: at.value for key, at in draft.entry.items()}


def test_keys_that_mean_the_same_are_taken_over_with_their_places():
    draft, _ = drafted({"httpUrl": "https://a.test", "excludeTools": ["x"]})

    assert draft.entry["url"].path == ("mcpServers", "a", "httpUrl")
    assert draft.entry["tools.block"].path == ("mcpServers", "a", "excludeTools")


@pytest.mark.parametrize(
    ("raw", "entry"),
    [
        (
            {"command": "npx", "args": ["x"], "cwd": "/", "env": {}},
            {"command": "npx", "args": ["x"], "cwd": "/", "env": {}},
        ),
        ({"url": "u", "headers": {"A": "b"}}, {"url": "u", "headers": {"A": "b"}}),
        ({"serverUrl": "u"}, {"url": "u"}),
        ({"httpUrl": "u"}, {"url": "u", "transport": "http"}),
        ({"command": "npx", "url": None, "env": None}, {"command": "npx"}),
        ({"command": "npx", "includeTools": ["a"]}, {"command": "npx", "tools.allow": ["a"]}),
        ({"command": "npx", "timeout": 45000}, {"command": "npx", "timeouts.call": 45.0}),
        ({"type": "stdio", "command": "npx"}, {"command": "npx"}),
        ({"type": "http", "url": "u"}, {"url": "u", "transport": "http"}),
        ({"type": "streamable-http", "url": "u"}, {"url": "u", "transport": "http"}),
        ({"type": "streamableHttp", "url": "u"}, {"url": "u", "transport": "http"}),
        ({"transport": "http", "url": "u"}, {"url": "u", "transport": "http"}),
        ({"type": "sse", "url": "u"}, {"url": "u", "transport": "sse"}),
        ({"type": "ws", "url": "u"}, {"url": "u", "transport": "ws"}),
        ({"type": "websocket", "url": "u"}, {"url": "u", "transport": "ws"}),
    ],
)
def test_an_entry_is_told_in_our_keys(raw: Any, entry: dict[str, Any]):
    assert given(raw) == entry


def test_a_way_we_do_not_know_refuses_that_server_only():
    draft, told = drafted({"type": "pigeon", "url": "https://a.test"})

    assert told == []
    assert len(draft.refusals) == 1
    assert "known here; use stdio, http, sse or ws" in draft.refusals[0]
    assert draft.refusals[0].startswith("f: mcpServers.a.type: ")


@pytest.mark.parametrize("raw", [{"type": "http", "command": "npx"}, {"type": "stdio", "url": "https://a.test"}])
def test_a_way_that_leads_nowhere_refuses_that_server_only(raw: Any):
    draft, told = drafted(raw)

    assert told == []
    assert "but there is no" in draft.refusals[0]


def test_unknown_keys_are_notes():
    draft, told = drafted({"command": "npx", "autoApprove": ["x"], "icon": "y", "gallery": None})

    assert told == []
    assert draft.notes == ["ignored autoApprove, icon: not known here"]


def test_keys_of_ours_outside_their_place_are_noted_as_such():
    draft, _ = drafted({"command": "npx", "tools": {"allow": []}, "prefix": "x"})

    assert draft.notes == ["ignored tools, prefix: keys of ours stand under x-bascule in this file"]


def test_our_keys_stand_under_their_own_and_win():
    draft, told = drafted(
        {"command": "npx", "timeout": 5000, "x-bascule": {"timeouts": {"call": 7}, "tools": {"allow": ["r_*"]}}}
    )

    assert told == []
    assert draft.entry["timeouts.call"].value == 7
    assert draft.entry["tools.allow"].path == ("mcpServers", "a", "x-bascule", "tools", "allow")


def test_under_our_key_unknown_ones_are_errors():
    _, told = drafted({"command": "npx", "x-bascule": {"prefx": "x"}})

    assert told == [
        'f: mcpServers.a.x-bascule.prefx: unknown key; did you mean "prefix"?',
    ]


@pytest.mark.parametrize("value", ["5000", True, 0, -1, float("inf"), [5]])
def test_a_timeout_is_a_number_of_milliseconds(value: Any):
    assert "milliseconds" in drafted({"command": "npx", "timeout": value})[1][0]


def test_a_timeout_that_was_meant_in_seconds_is_pointed_out():
    assert drafted({"command": "npx", "timeout": 30})[0].notes == ["timeout is read as milliseconds: 30 of them"]


def test_a_type_must_be_text():
    assert len(drafted({"type": 5, "url": "u"})[1]) == 1


@pytest.mark.parametrize(
    ("raw", "disabled"),
    [
        ({"disabled": True}, True),
        ({"disabled": False}, False),
        ({"enabled": False}, True),
        ({"enabled": True}, False),
        ({}, False),
        (5, False),
    ],
)
def test_a_file_can_disable_a_server(raw: Any, disabled: bool):
    problems = Problems("f")

    assert is_disabled(raw, ("a",), problems) is disabled
    assert problems.found == []


def test_whether_a_server_is_disabled_must_be_clear():
    problems = Problems("f")

    assert is_disabled({"disabled": "true"}, ("a",), problems) is False
    assert len(problems.found) == 1
