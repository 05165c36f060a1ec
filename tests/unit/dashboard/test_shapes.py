"""Shapes are JSON under their own names."""

import msgspec

from bascule.dashboard.shapes import Deed, ErrorView, LinkCount


def test_a_shape_is_json_and_back():
    deed = Deed(ok=False, told="no", error=ErrorView("BSC-100", "wrong"))
    assert msgspec.json.decode(msgspec.json.encode(deed), type=Deed) == deed
    assert msgspec.to_builtins(LinkCount("open", "ready", 2)) == {"lane": "open", "state": "ready", "count": 2}
