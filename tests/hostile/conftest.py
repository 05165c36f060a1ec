"""Something that hears all events."""

import pytest

from support.runtime import Events


@pytest.fixture
def events() -> Events:
    return Events()
