"""What is said over a raise socket, and what is not understood."""

import json

import pytest

from bascule.core.errors import ProtocolViolation
from bascule.core.principal import MAX_ID
from bascule.core.sensitivity import DataSensitivity
from bascule.wire.level_protocol import LONGEST, Raise, asking, raising, read_reply, read_request, refusing, telling


def test_asking_is_read_as_asking():
    assert asking() == b'{"ask":"level"}\n'
    assert read_request(asking()) is None


@pytest.mark.parametrize("level", DataSensitivity)
def test_a_raise_is_read_as_it_was_written(level: DataSensitivity):
    wanted = read_request(raising("salaries", level))

    assert wanted is not None
    assert wanted == Raise("salaries", level.name.lower())
    assert wanted.level is level
    assert read_reply(telling(level)) is level


@pytest.mark.parametrize("letter", ["a", "é", "😀", '"', "\\"])
def test_the_longest_name_fits_into_a_line(letter: str):
    line = raising(letter * MAX_ID, DataSensitivity.CONFIDENTIAL)
    escaped = json.dumps({"raise": {"dataset": letter * MAX_ID, "sensitivity": "confidential"}})

    assert len(line) < LONGEST
    assert len(escaped) < LONGEST
    assert read_request(escaped.encode()) == read_request(line)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"level",
        b"{}",
        b"[]",
        b"null",
        b'{"ask": "levels"}',
        b'{"ask": null}',
        b'{"ask": ["level"]}',
        b'{"ask": "level", "of": "bob"}',
        b'{"ask": "level", "raise": {"dataset": "a", "sensitivity": "secret"}}',
        b'{"lower": {"sensitivity": "public"}}',
        b'{"raise": null}',
        b'{"raise": {}}',
        b'{"raise": {"dataset": "a"}}',
        b'{"raise": {"dataset": 1, "sensitivity": "secret"}}',
        b'{"raise": {"dataset": "a", "sensitivity": 3}}',
        b'{"raise": {"dataset": "a", "sensitivity": "SECRET"}}',
        b'{"raise": {"dataset": "a", "sensitivity": "top"}}',
        b'{"raise": {"dataset": "a", "sensitivity": "secret", "principal": "bob"}}',
        b'{"raise": {"dataset": "\xff", "sensitivity": "secret"}}',
        b"[" * LONGEST,
        b'{"raise":' * 400,
    ],
)
def test_nothing_else_means_anything(line: bytes):
    with pytest.raises(ProtocolViolation, match="asked for the level, or told of a dataset"):
        read_request(line)


@pytest.mark.parametrize("line", [b"", b"{}", b'{"level": 2}', b'{"level": "SECRET"}', b'{"level": "none"}', b"[1"])
def test_a_reply_that_tells_no_level_is_none(line: bytes):
    with pytest.raises(ProtocolViolation, match="tells no level"):
        read_reply(line)


def test_a_refusal_says_why():
    with pytest.raises(ProtocolViolation, match="could not be kept"):
        read_reply(refusing("the level could not be kept"))
