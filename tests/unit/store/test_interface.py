"""The interface of the store."""

from pathlib import Path

from bascule.store.interface import Store
from bascule.store.sqlite.store import SqliteStore


def test_the_sqlite_engine_fits_the_interface(tmp_path: Path):
    store: Store = SqliteStore(tmp_path / "bascule.db")
    assert store is not None
