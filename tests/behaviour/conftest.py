"""Something that hears all events, and what makes boxes."""

from collections.abc import Generator

import pytest

from support.bwrap import skip_without_bubblewrap
from support.docker import reached
from support.runtime import Events


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture(params=["bubblewrap", "docker"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    monkeypatch.setenv("BASCULE_SANDBOX", request.param)
    if request.param == "docker":
        with reached():
            yield request.param
        return
    skip_without_bubblewrap()
    yield request.param
