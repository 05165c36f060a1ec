"""What the description of a box says by itself."""

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.box import Bounds, Box


def test_the_environment_of_a_box_is_not_shown_by_accident() -> None:
    bounds = Bounds(memory=1, cpus=1, pids=1, disk=1)
    box = Box("b", "files", Lane.SEALED, ("server",), {"TOKEN": "hunter2-hunter2"}, "/", (), bounds)
    assert "hunter2" not in repr(box)
