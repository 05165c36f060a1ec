"""Which engine is chosen."""

from pathlib import Path

import pytest

from bascule.core.errors import ConfigError
from bascule.store.choose import store_at
from bascule.store.interface import KeptListing, ListingKey

KEY = ListingKey("", "open", "files")


@pytest.mark.parametrize("address", [None, "{folder}/other.db", "sqlite:///{folder}/other.db"])
async def test_a_file_is_made_where_the_address_says(tmp_path: Path, address: str | None):
    store = store_at(address.format(folder=tmp_path) if address else None, tmp_path)
    await store.keep_listing(KEY, KeptListing("sha256:x", {}))
    await store.close()
    assert (tmp_path / ("other.db" if address else "bascule.db")).exists()


def test_an_engine_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="not available"):
        store_at("postgresql://localhost/db", tmp_path)
