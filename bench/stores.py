"""Store engines for the benchmarks: SQLite in a folder, and a real PostgreSQL where one is installed."""

import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

TESTS = str(Path(__file__).parents[1] / "tests")


@contextmanager
def stores() -> Generator[dict[str, str]]:
    """By engine, what `store` in a config says."""
    with tempfile.TemporaryDirectory(prefix="bascule-bench-") as folder:
        found = {"SQLite": str(Path(folder) / "bascule.db")}
        # The tests know how to start a server of their own.
        sys.path.insert(0, TESTS)
        postgres = import_module("support.postgres")
        if not postgres.installed():
            yield found
            return
        server = postgres.made_server()
        with server.guarded():
            yield {**found, "PostgreSQL": server.database()}
