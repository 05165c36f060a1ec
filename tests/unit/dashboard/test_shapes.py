"""Shapes are JSON under their own names."""

import msgspec

from bascule.dashboard.server_shapes import ErrorView
from bascule.dashboard.shapes import Deed


def test_a_shape_is_json_and_back():
    deed = Deed(ok=False, told="no", error=ErrorView("BSC-100", "wrong"))
    assert msgspec.json.decode(msgspec.json.encode(deed), type=Deed) == deed
