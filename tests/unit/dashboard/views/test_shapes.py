"""JSON of the view models, with the names of their fields."""

import msgspec

from bascule.dashboard.views.shapes import Deed, ErrorView, LinkCount


def test_a_shape_is_json_and_back():
    deed = Deed(ok=False, told="no", error=ErrorView("BSC-100", "wrong"))
    assert msgspec.json.decode(msgspec.json.encode(deed), type=Deed) == deed


def test_a_shape_of_a_server_is_json_by_its_own_names():
    assert msgspec.to_builtins(LinkCount("open", "ready", 2)) == {"lane": "open", "state": "ready", "count": 2}
