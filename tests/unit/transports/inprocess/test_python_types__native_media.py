"""Bytes that a tool gives back."""

import pytest

from bascule.transports.inprocess.python_types import Media


def test_media_is_a_plain_value():
    assert Media(b"x", "image/png") == Media(b"x", "image/png", "result")
    with pytest.raises(AttributeError):
        Media(b"x", "image/png").data = b"y"  # pyright: ignore[reportAttributeAccessIssue]
