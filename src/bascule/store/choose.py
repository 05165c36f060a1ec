"""Which engine keeps the state: what the config names, else one SQLite file in the state folder."""

from pathlib import Path

from bascule.core.errors import ConfigError
from bascule.store.interface import Store
from bascule.store.sqlite import SqliteStore

FILE = "bascule.db"


def store_at(address: str | None, state_folder: Path) -> Store:
    """The store for the `store` key of the config. It is not open yet."""
    if address is None:
        return SqliteStore(state_folder / FILE)
    if address.startswith("sqlite:///"):
        return SqliteStore(Path(address.removeprefix("sqlite:///")).expanduser())
    if "://" in address:
        scheme = address.partition("://")[0]
        raise ConfigError(
            f"store: {scheme} is not available in this version", fix="leave `store` out, or name a file: sqlite:///PATH"
        )
    return SqliteStore(Path(address).expanduser())
