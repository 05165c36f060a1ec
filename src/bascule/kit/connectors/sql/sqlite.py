"""SQLite reader: opened read-only, with an authorizer for the allowed tables. A database of the workspace is read into
memory, so that no rename can swap the file, and no journal beside it is applied."""

import sqlite3
import time
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bascule.core.errors import ConnectFailed, UsageError
from bascule.files.regular_file import check_database
from bascule.kit.connectors.connector import Connector
from bascule.kit.connectors.sql.allowed_functions import TABLE_FUNCTIONS, may_call
from bascule.kit.connectors.sql.query_check import CheckedQuery, Tables
from bascule.kit.connectors.sql.source import Rows, SqlLimits, SqlSource, bounded_rows

LONGEST_VALUE = 4 * 1024 * 1024
"""Bytes of one text or blob, also while it is being computed: `printf('%1000000000d', 1)` is a gigabyte otherwise."""

_LONGEST_PATTERN = 256
_OPERATIONS = 2000
"""Of its virtual machine, between two looks at the clock: some tens of microseconds."""

_WAL_MODE = b"\x02\x02"
_ROLLBACK_MODE = b"\x01\x01"
_MAGIC = b"SQLite format 3\0"

_LIST = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class SqliteReader:
    """One open database. It lasts for one question."""

    def __init__(self, source: SqlSource, database: sqlite3.Connection) -> None:
        self._source = source
        self._database = database
        self._until = time.monotonic() + source.limits.seconds
        database.set_progress_handler(self._is_late, _OPERATIONS)
        with self._told():
            _tighten(database)
        names = [name for (name,) in self._fetch(_LIST)]
        wanted = source.tables
        self.names = tuple(sorted(name for name in names if wanted is None or _is_named(name, wanted)))
        self.tables = Tables("sqlite", "main", frozenset(f"main.{name.lower()}" for name in self.names))

    def columns(self, table: str) -> list[tuple[str, str, bool]]:
        """Name, type, and whether it may be empty."""
        found = self._fetch('SELECT name, type, "notnull" FROM pragma_table_info(?)', table)
        return [(name, kind, not required) for name, kind, required in found]

    def run(self, query: CheckedQuery, values: dict[str, Any]) -> Rows:
        """From here on nothing else can be done with this connection, whatever the query says."""
        allowed = {name.partition(".")[2] for name in self.tables.names or ()}
        self._database.set_authorizer(_Authorizer(frozenset(allowed), query.made))
        with self._told():
            cursor = self._database.execute(query.sql, values)
            # Their names are the query's own business, but for those that nobody gave.
            columns = [str(column[0]) for column in cursor.description or ()]
            return bounded_rows(columns, cursor, self._source.limits)

    def _fetch(self, statement: str, *values: str) -> list[Any]:
        with self._told():
            return self._database.execute(statement, values).fetchall()

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    @contextmanager
    def _told(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
            failure = self._failure(error)
        else:
            return
        raise failure

    def _failure(self, error: Exception) -> UsageError:
        if self._is_late():
            return too_slow(self._source.limits)
        return UsageError(
            "the database refused the query",
            where=self._source.name,
            evidence=str(error),
            fix="look at its tables first",
        )


class _Authorizer:
    """Asked by SQLite for each thing that a statement would do, while it is compiled."""

    def __init__(self, tables: frozenset[str], made: frozenset[str]) -> None:
        self._tables = tables
        # Asked for by name as if they were tables, when no column of theirs is used.
        self._made = made | TABLE_FUNCTIONS

    def __call__(self, action: int, first: str | None, second: str | None, _: str | None, view: str | None) -> int:
        match action:
            case sqlite3.SQLITE_SELECT | sqlite3.SQLITE_RECURSIVE:
                allowed = True
            case sqlite3.SQLITE_READ:
                allowed = self._may_read(first or "", second or "", view)
            case sqlite3.SQLITE_FUNCTION:
                allowed = may_call(second or "", "sqlite")
            case _:
                allowed = False
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    def _may_read(self, table: str, column: str, view: str | None) -> bool:
        if table.lower() in self._tables or table.lower() in TABLE_FUNCTIONS:
            return True
        if view is not None and view.lower() in self._tables:
            return not table.lower().startswith(("sqlite_", "pragma_"))
        return not column and table.lower() in self._made


@contextmanager
def sqlite_reader(source: SqlSource) -> Generator[SqliteReader]:
    database = _opened(source)
    try:
        yield SqliteReader(source, database)
    finally:
        database.close()


def _opened(source: SqlSource) -> sqlite3.Connection:
    if source.file is not None:
        return _in_memory(_database_bytes(source.file, source.limits.file))
    try:
        check_database(Path(str(source.path)))
        return sqlite3.connect(
            f"{Path(str(source.path)).as_uri()}?mode=ro",
            uri=True,
            timeout=source.limits.seconds,
            isolation_level=None,
            check_same_thread=False,
        )
    except (sqlite3.Error, OSError) as error:
        evidence = str(error)
    raise ConnectFailed(
        f"the database of {source.name} cannot be opened",
        where=source.name,
        evidence=evidence,
        fix="an operator has to look whether the file is there and may be read",
    )


def _database_bytes(file: str, most: int) -> bytes:
    workspace = Connector.workspace()
    for ending in ("-wal", "-journal"):
        if workspace.exists(file + ending) and workspace.stat(file + ending).size:
            raise UsageError(
                "somebody is writing to this database, or was stopped in the middle of it",
                where=file,
                evidence=f"there is a {ending.removeprefix('-')} beside it",
                fix="let its writer close it, then ask again",
            )
    with workspace.open(file, "rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise UsageError("this database is too large to be asked", where=file, evidence=f"more than {most} bytes")
    if not data.startswith(_MAGIC):
        raise UsageError("this file is no SQLite database", where=file, fix="read it as what it is")
    # Without a file there is nothing to keep a log beside.
    return data[:18] + _ROLLBACK_MODE + data[20:] if data[18:20] == _WAL_MODE else data


def _in_memory(data: bytes) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.deserialize(data)
    return database


def _tighten(database: sqlite3.Connection) -> None:
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    database.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LONGEST_PATTERN)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.execute("PRAGMA query_only = ON")
    # What a view or an index of somebody else's file calls is as little trusted as a query.
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    for name in sorted(TABLE_FUNCTIONS):
        # Made when first used, and nothing may be made any more by then.
        database.execute(f"SELECT 1 FROM {name}('[]')")  # noqa: S608 -- a name of our own


def _is_named(name: str, wanted: AbstractSet[str]) -> bool:
    return name.lower() in {each.lower().removeprefix("main.") for each in wanted}


def too_slow(limits: SqlLimits) -> UsageError:
    return UsageError(
        f"the query took longer than {limits.seconds:g} seconds, and was stopped",
        fix="ask for less: fewer rows, a narrower WHERE, no join without a condition",
    )
