"""Selection of the store engine: the config's `store` address, else one SQLite file in the state folder."""

from pathlib import Path

from bascule.core.errors import ConfigError
from bascule.store.interface import Store
from bascule.store.sqlite.store import SqliteStore

FILE = "bascule.db"


def store_at(address: str | None, state_folder: Path) -> Store:
    """The store for the `store` key of the config. It is not open yet."""
    if address is None:
        return SqliteStore(state_folder / FILE, state_folder)
    if address.startswith("sqlite:///"):
        return SqliteStore(Path(address.removeprefix("sqlite:///")).expanduser(), state_folder)
    scheme, colon, _ = address.partition("://")
    if not colon:
        return SqliteStore(Path(address).expanduser(), state_folder)
    if scheme in {"postgresql", "postgres"}:
        return _postgres_at(address, state_folder)
    raise ConfigError(
        f"store: there is no engine for {scheme}://",
        fix="name a file, sqlite:///PATH, or postgresql://user@host/database",
    )


def _postgres_at(address: str, state_folder: Path) -> Store:
    try:
        from bascule.store.postgres.store import PostgresStore  # noqa: PLC0415 -- an extra
    except ModuleNotFoundError as error:
        if error.name != "psycopg":
            raise
        raise ConfigError(
            "store: a database of PostgreSQL needs a package that is not installed",
            problems=(f"store: {error}",),
            fix="pip install 'bascule[postgres]', or leave `store` out to keep the state in an SQLite file",
        ) from error
    except ImportError as error:
        raise ConfigError(
            "store: the package for PostgreSQL does not work here",
            problems=(f"store: {error}",),
            fix="pip install --force-reinstall 'bascule[postgres]'",
        ) from error
    return PostgresStore(address, state_folder)
