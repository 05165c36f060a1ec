"""For every test here: chance, with another seed each time, and a place for the figures that were measured."""

import os
import random
from collections.abc import Callable

import pytest

from bascule.sensitivity import fence

STORES: list[str | None] = [None]
"""What the `store` key of a config can say: each engine that keeps levels. None is a file in the state folder."""


@pytest.fixture(params=STORES, ids=lambda store: store.partition(":")[0] if store else "sqlite")
def store(request: pytest.FixtureRequest) -> str | None:
    return request.param


@pytest.fixture
def long_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one runtime alone: a machine too busy to look in time must not be what ends a call."""
    monkeypatch.setattr(fence, "HOLDS", 600.0)


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
