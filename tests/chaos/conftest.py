"""For every test here: chance, with another seed each time, and a place for the figures that were measured."""

import os
import random
from collections.abc import Callable

import pytest


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Figures of a run: shown with `-s`, and kept in a report."""

    def told(text: str) -> None:
        record_property("figures", text)
        print(f"\n{text}")

    return told


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    """`BASCULE_SEED` repeats a run. Every assertion tells the seed."""
    chosen = int(os.environ.get("BASCULE_SEED") or random.SystemRandom().randrange(2**32))
    record_property("seed", chosen)
    return chosen
