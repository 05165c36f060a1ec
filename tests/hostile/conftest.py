"""Event collector, and an egress proxy on a small internet of the tests."""

import os
from collections.abc import Iterator

import pytest

from support.runtime import Events
from support.way_out import WayOut, way_out
from support.ways_out import table


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture(scope="session")
def out() -> Iterator[WayOut]:
    with way_out() as made:
        yield made


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the table of ways out at the end of `make soak`."""
    for line in table() if os.environ.get("BASCULE_SOAK") == "1" else ():
        terminalreporter.write_line(line)
