"""Shapes are JSON under their own names."""

import msgspec

from bascule.dashboard.views.shapes import Deed, ErrorView


def test_a_shape_is_json_and_back():
    deed = Deed(ok=False, told="no", error=ErrorView("BSC-100", "wrong"))
    assert msgspec.json.decode(msgspec.json.encode(deed), type=Deed) == deed
