"""Progress and media of Python tools."""

from typing import Any

import pytest

from bascule.transports.inprocess.python_types import Media, Progress, unheard


def test_progress_is_told_with_what_was_left_out():
    told: list[Any] = []
    say = Progress(lambda *progress: told.append(progress))

    say(1)
    say(2, 3)
    say(3, 3, "there")

    assert told == [(1, None, None), (2, 3, None), (3, 3, "there")]


def test_where_nobody_listens_nothing_happens():
    Progress(unheard)(1, 2, "half")


def test_media_is_a_plain_value():
    assert Media(b"x", "image/png") == Media(b"x", "image/png", "result")
    with pytest.raises(AttributeError):
        Media(b"x", "image/png").data = b"y"  # pyright: ignore[reportAttributeAccessIssue]
