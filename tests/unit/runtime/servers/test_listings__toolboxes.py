"""One toolbox for all who see the same."""

from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.runtime.servers.listings import MOST_TOOLBOXES, Toolboxes
from support.runtime import a_tool


def a_listing(tool: str) -> ServerListing:
    pages = Pages()
    pages.add({"tools": [a_tool(tool)]})
    return catalog_listing("work", "work", pages)[0]


def test_toolboxes_are_not_kept_without_end():
    boxes = Toolboxes()
    listings = [a_listing(f"act{number}") for number in range(MOST_TOOLBOXES + 1)]
    first = boxes.of((listings[0],))
    assert boxes.of((listings[0],)) is first
    for listing in listings[1:]:
        boxes.of((listing,))

    assert len(boxes._made) == MOST_TOOLBOXES
    assert boxes.of((listings[0],)) is not first
