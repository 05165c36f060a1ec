"""JSON shapes of running servers, sandboxes and health checks."""

import msgspec

from bascule.cli.doctor.check import Check
from bascule.cli.json_output.running import BoxesShape, CatalogEventShape, CheckShape
from bascule.cli.views.up import told_shape
from bascule.core.events import CatalogChanged
from bascule.sandbox.inventory import ListedBox, ListedLayer
from support.shapes import misfit


def test_boxes_and_layers_have_their_shapes():
    box = ListedBox("b-1", "files", "sealed", "docker", 3.0, orphaned=False)
    layer = ListedLayer("k-1", "npx x@1", pinned=True, size=7, seconds=3.0)
    assert misfit(msgspec.to_builtins({"boxes": [box], "layers": [layer]}), BoxesShape) == ""


def test_a_check_has_its_shape():
    assert misfit(msgspec.to_builtins(Check("config", "warn", "odd")), CheckShape) == ""
    assert misfit(msgspec.to_builtins(Check("config", "odd", "odd")), CheckShape) != ""


def test_a_listing_that_changed_has_its_shape():
    changed = CatalogChanged("files", ("a",), (), ("b",), 7.0, ("odd",))
    assert misfit(told_shape(changed), CatalogEventShape) == ""
