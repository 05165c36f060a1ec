"""What `bascule doctor` checks of where state is kept: that it can be opened, and what keeps it."""

from collections.abc import Mapping

from bascule.cli.doctor.check import Check
from bascule.cli.doctor.levels import store_checks
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import state_folder
from bascule.config.urls import shown_store
from bascule.store.open import store_at


async def kept_checks(config: RuntimeConfig, environ: Mapping[str, str]) -> list[Check]:
    """What is kept, as it was found: by a look of its own, which no runtime takes part in. Raises `BasculeError` where
    it cannot be opened."""
    store = store_at(config.store, state_folder(environ))
    await store.open()
    try:
        levels = await store_checks(store.levels)
    finally:
        await store.close()
    return [Check("state", "ok", f"kept in {await _where(config, environ)}"), *levels]


async def _where(config: RuntimeConfig, environ: Mapping[str, str]) -> str:
    if config.store is None:
        return str(state_folder(environ))
    shown = shown_store(config.store)
    if not config.store.startswith(("postgresql://", "postgres://")):
        return shown
    from bascule.store.postgres.connection import PostgresAddress  # noqa: PLC0415 -- an extra, and there: it was opened

    db = await PostgresAddress(config.store).connect()
    try:
        return f"{shown} (PostgreSQL {db.info.server_version // 10000})"
    finally:
        await db.close()
