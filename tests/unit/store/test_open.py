"""Which engine is chosen."""

import subprocess
import sys
from pathlib import Path

import pytest

from bascule.core.errors import ConfigError
from bascule.core.principal import Principal
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.open import store_at
from support.postgres import execute

KEY = ListingKey("", "open", "files")


@pytest.mark.parametrize("address", [None, "{folder}/other.db", "sqlite:///{folder}/other.db"])
async def test_a_file_is_made_where_the_address_says(tmp_path: Path, address: str | None):
    store = store_at(address.format(folder=tmp_path) if address else None, tmp_path)
    await store.keep_listing(KEY, KeptListing("sha256:x", {}))
    await store.close()
    assert (tmp_path / ("other.db" if address else "bascule.db")).exists()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
async def test_a_database_of_postgresql_is_found_by_its_address(database: str, tmp_path: Path, scheme: str):
    store = store_at(database.replace("postgresql", scheme, 1), tmp_path)
    await store.keep_listing(KEY, KeptListing("sha256:x", {}))
    await store.close()
    assert execute(database, "SELECT server FROM bascule.listings") == [("files",)]
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


@pytest.mark.parametrize("address", [None, "{folder}/elsewhere/other.db", "sqlite:///{folder}/elsewhere/other.db"])
async def test_the_key_of_levels_is_in_the_state_folder_wherever_the_file_is(tmp_path: Path, address: str | None):
    store = store_at(address.format(folder=tmp_path) if address else None, tmp_path / "state")
    await store.levels.begin(Principal("alice", "s-1"), 1.0)
    await store.close()

    assert (tmp_path / "state" / "keys" / "levels.key").exists()
    assert not (tmp_path / "elsewhere" / "keys").exists()


def test_an_engine_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="no engine for mysql://"):
        store_at("mysql://localhost/db", tmp_path)


WITHOUT = """
import sys
from pathlib import Path
sys.modules["psycopg"] = None
from bascule.core.errors import ConfigError
from bascule.store.open import store_at
store_at(None, Path(sys.argv[1]))
try:
    store_at("postgresql://me:hunter2@db/x", Path(sys.argv[1]))
except ConfigError as error:
    print(error, error.evidence, error.fix)
"""


def test_without_the_package_it_is_said_which_one(tmp_path: Path):
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "pip install 'bascule[postgres]'" in told
    assert "hunter2" not in told
