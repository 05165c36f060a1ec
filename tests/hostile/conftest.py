"""Something that hears all events, and a proxy on an internet of the tests' own."""

from collections.abc import Iterator

import pytest

from support.runtime import Events
from support.way_out import WayOut, way_out


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture(scope="session")
def out() -> Iterator[WayOut]:
    with way_out() as made:
        yield made
