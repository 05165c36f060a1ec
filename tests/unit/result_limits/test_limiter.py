"""The limiter."""

import re
from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.core.errors import NoRoom, PathRefused
from bascule.result_limits.limiter import NOWHERE, limited

PRESET = Preset(characters=1000)


@pytest.mark.parametrize(
    "value", ["x" * 1000, b"x" * 1000, "é" * 1000, "é".encode() * 1000, {"a": "x" * 990}, [], None, 7]
)
def test_what_is_short_enough_is_left_as_it_is(value: Any):
    def save(path: str, data: bytes) -> None:
        raise AssertionError("nothing is saved")

    assert limited(value, PRESET, save) is None


@pytest.mark.parametrize(
    ("value", "data", "ending"),
    [
        ("x" * 1001, b"x" * 1001, "txt"),
        (b"\xff" * 1001, b"\xff" * 1001, "bin"),
        (["x" * 1000], b'["' + b"x" * 1000 + b'"]', "json"),
        ("a,b\n" * 300, b"a,b\n" * 300, "csv"),
        ("ERROR\n" * 300, b"ERROR\n" * 300, "log"),
    ],
)
def test_what_is_longer_is_saved_as_it_is_under_a_name_of_its_kind(value: Any, data: bytes, ending: str):
    saved: dict[str, bytes] = {}
    found = limited(value, PRESET, saved.__setitem__)
    assert found is not None
    assert saved == {found.kept.path: data}
    assert re.fullmatch(rf"/workspace/results/[0-9a-f]{{32}}\.{ending}", found.kept.path)
    assert found.meta["path"] == found.kept.path
    assert found.meta["bytes"] == len(data)
    assert found.kept.path in found.notice


def test_no_two_names_are_the_same():
    saved: dict[str, bytes] = {}
    for _ in range(500):
        limited("x" * 1001, PRESET, saved.__setitem__)
    assert len(saved) == 500


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NoRoom("the quota is used up"), "the quota is used up"),
        (PathRefused("it leads out"), "it leads out"),
        (OSError(28, "No space left on device", "/host/secret"), "No space left on device"),
        (None, NOWHERE),
    ],
)
def test_where_it_cannot_be_saved_a_preview_says_so(error: Exception | None, told: str):
    def save(path: str, data: bytes) -> None:
        assert error is not None
        raise error

    found = limited("x" * 5000, PRESET, save if error is not None else None)
    assert found is not None
    assert told in found.preview
    assert "/host" not in found.preview
    assert found.meta["problem"] == told
    assert "path" not in found.meta
    assert len(found.preview) <= 1000


def test_the_notice_itself_is_cut_where_it_is_too_long():
    def save(path: str, data: bytes) -> None:
        raise NoRoom("no room " * 100)

    found = limited("x" * 900, PRESET, save, room=250)
    assert found is not None
    assert len(found.preview) == 250


def test_less_room_than_the_preset_has_can_be_given():
    found = limited("x" * 900, PRESET, None, room=600)
    assert found is not None
    assert len(found.preview) <= 600
