"""A sample of the tests, which takes minutes: every test once, and none that is `long`.

Of a test with many cases it has the first, and tests that draw values draw fewer. `make test` runs it; all cases of all
tests are run by CI, and by `make test ALL=1`.
"""

from collections.abc import Iterable

import pytest

LONG = "long: takes a third of a second of a processor, or more; `make test` leaves it to CI and to `make test ALL=1`"

DRAWN = 20
"""Times that a test draws values which does not say itself how often; a fifth of what it draws else."""


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--sample", action="store_true", help="run the first case of each test, and none marked long")


class Sample:
    """Leaves the others out, and says how many those are."""

    def __init__(self) -> None:
        self._cases = 0
        self._long = 0
        from hypothesis import settings  # which some environments that read this file do not have

        settings.register_profile("sample", max_examples=DRAWN)
        settings.load_profile("sample")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        short = [item for item in items if item.get_closest_marker("long") is None]
        taken = [*first_cases(short)]
        self._cases, self._long = len(short) - len(taken), len(items) - len(short)
        chosen = set(taken)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = taken

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(
            f"A sample: the first case of each test. {self._cases} more, and {self._long} of tests that are long, are run "
            "by CI, and here by: make test ALL=1"
        )


def first_cases(items: Iterable[pytest.Item]) -> Iterable[pytest.Item]:
    seen = set[tuple[object, ...]]()
    for item in items:
        # By the class that has it: one that another class inherits is that one's too.
        test = (item.path, getattr(item, "cls", None), getattr(item, "originalname", None) or item.name)
        if test not in seen:
            seen.add(test)
            yield item
