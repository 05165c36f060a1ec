"""The error tree."""

import re
from collections.abc import Iterator

import pytest

from bascule.core import errors
from bascule.core.errors import (
    BasculeError,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    PeerError,
    PeerRefused,
    PermitLost,
    Refused,
    missing,
)


def tree(root: type[BasculeError] = BasculeError) -> Iterator[type[BasculeError]]:
    yield root
    for below in root.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from tree(below)


NEVER_TOLD = {PeerError, PermitLost}
"""A family, and a sign between our own rooms."""


def test_every_class_that_somebody_can_meet_has_a_code_of_its_own():
    codes = [kind.code for kind in tree() if kind not in NEVER_TOLD]

    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"BSC-\d{3}", code) for code in codes)


def test_what_nobody_is_meant_to_meet_is_a_mistake_of_ours_to_who_does():
    assert {kind.code for kind in NEVER_TOLD} == {BasculeError.code}


def test_the_drawing_shows_every_class_with_its_code_under_its_parent():
    assert errors.__doc__ is not None
    drawn = dict(re.findall(r"(\w+)\s+(BSC-\d{3})", errors.__doc__))

    assert drawn == {kind.__name__: kind.code for kind in tree() if kind not in NEVER_TOLD}
    assert all(re.search(rf"── {kind.__name__} ", errors.__doc__) for kind in NEVER_TOLD)


def test_an_error_tells_what_a_person_needs():
    error = BasculeError("it broke", where="start", evidence="exit 1", cause="no such file", fix="install it")

    assert str(error) == "it broke"
    assert (error.where, error.evidence, error.cause, error.fix) == ("start", "exit 1", "no such file", "install it")


def test_a_config_error_shows_all_its_problems_as_evidence():
    error = ConfigError("two problems", problems=("a: wrong", "b: unknown"))

    assert error.problems == ("a: wrong", "b: unknown")
    assert error.evidence == "a: wrong\nb: unknown"


def test_only_a_failed_connect_surely_sent_nothing():
    unsent = {kind for kind in tree() if issubclass(kind, PeerError) and not kind.sent}

    assert unsent == {ConnectFailed, errors.LoginNeeded, errors.LoginFailed, errors.StartFailed}


@pytest.mark.parametrize("sent", [True, False])
def test_a_lost_connection_says_whether_the_request_had_left(sent: bool):
    assert ConnectionLost("gone", sent=sent).sent is sent


def test_nothing_of_a_servers_refusal_is_dropped():
    error = PeerRefused(
        "slow down", rpc_code=-32000, data={"a": 1}, status=429, headers={"Retry-After": "3"}, phase="list"
    )

    assert (error.rpc_code, error.data, error.status, error.phase) == (-32000, {"a": 1}, 429, "list")
    assert error.headers == {"Retry-After": "3"}
    assert error.where == "list"


def test_a_refusal_names_its_rule():
    assert Refused("no", rule="tool_is_exposed").rule == "tool_is_exposed"


def test_a_limit_says_when_it_may_be_tried_again():
    error = errors.LimitReached("enough", rule="within_limits", retry_after=3, fix="wait")
    assert (error.rule, error.retry_after, error.fix) == ("within_limits", 3, "wait")


def test_a_missing_optional_package_is_one_line_with_the_command_that_installs_it():
    error = missing("PydanticAI", "pydantic-ai", ModuleNotFoundError("No module", name="pydantic_ai"))
    assert str(error) == "PydanticAI is not installed: pip install 'bascule[pydantic-ai]'"
    assert error.name == "pydantic_ai"
