"""A real PostgreSQL for a run of the tests: from the system's packages, in a folder of its own, on a socket file only."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg
import pytest

SETTINGS = {
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "32MB",
    "autovacuum": "off",
    # What must survive a crash has to ask for it.
    "synchronous_commit": "off",
}

LONGEST = 180
"""Seconds for a server to start or stop, on a machine whose disk is busy with other things."""

_GUARD = 'exec 3<&0; (cat <&3; "$@" stop --mode immediate --silent; rm -rf "$FOLDER") >/dev/null 2>&1 &'
"""Should this process be killed, nobody is left but this one: it reads until the other end of its pipe is gone."""


class PostgresServer:
    """One server, in a folder of its own. `database()` gives an empty database in it."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bascule-pg-"))
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self._programs = programs
        self._data = self.folder / "data"
        self._control = [*_as_postgres(), str(programs / "pg_ctl"), "--pgdata", str(self._data)]
        self._numbers = count(1)
        self._free: list[str] = []

    def initialise(self) -> None:
        initdb = [*_as_postgres(), str(self._programs / "initdb"), "--no-sync", "--auth", "trust"]
        _run(
            [*initdb, "--username", "bascule", "--encoding", "UTF8", "--locale", "C.UTF-8", "--pgdata", str(self._data)]
        )
        self._set(**SETTINGS, unix_socket_directories=str(self.folder))

    def replica(self) -> "PostgresServer":
        """A streaming replica of this server, not started yet."""
        replica = PostgresServer(self._programs)
        self._back_up(replica._data, "--write-recovery-conf")
        replica._set(unix_socket_directories=str(replica.folder))
        return replica

    def back_up(self) -> Path:
        """A backup of all databases, in the folder of this server."""
        backup = self.folder / "backup"
        self._back_up(backup)
        return backup

    def restore(self, backup: Path) -> None:
        """Restart with a backup in place of all databases."""
        self.stop("immediate")
        shutil.rmtree(self._data)
        backup.rename(self._data)
        self.start()

    def _back_up(self, folder: Path, *options: str) -> None:
        backup = [*_as_postgres(), str(self._programs / "pg_basebackup"), "--no-sync", "--checkpoint", "fast"]
        _run([*backup, "--pgdata", str(folder), "--dbname", self.address("postgres"), *options])

    def _set(self, **settings: str) -> None:
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(lines)

    def follow_no_more(self) -> None:
        """Cut this replica off, so that it stays as it is, and lags."""
        self.run("postgres", "ALTER SYSTEM SET primary_conninfo = ''")
        self.run("postgres", "SELECT pg_reload_conf()")

    @property
    def follows(self) -> bool:
        return bool(self.run("postgres", "SELECT FROM pg_stat_wal_receiver"))

    def written(self) -> str:
        """How far the log of a primary has been written."""
        ((place,),) = self.run("postgres", "SELECT pg_current_wal_flush_lsn()::text")
        return place

    def has_replayed(self, place: str) -> bool:
        ((replayed,),) = self.run("postgres", "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", place)
        return bool(replayed)

    def promote(self) -> None:
        _run([*self._control, "--timeout", str(LONGEST), "--wait", "--silent", "promote"])

    def start(self) -> None:
        _run([*self._control, "--log", str(self.folder / "log"), "--timeout", str(LONGEST), "--silent", "start"])

    def stop(self, mode: str = "fast") -> None:
        _run([*self._control, "--mode", mode, "--wait", "--silent", "stop"])

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    @contextmanager
    def paused(self) -> Generator[None]:
        """The server with all its processes stopped: connections stay open, and nothing answers on them."""
        server = psutil.Process(int((self._data / "postmaster.pid").read_text().partition("\n")[0]))
        server.send_signal(signal.SIGSTOP)
        # The first process starts the others: after it has stopped their number is final.
        stopped = [server, *server.children(recursive=True)]
        try:
            for process in stopped:
                process.send_signal(signal.SIGSTOP)
            yield
        finally:
            for process in reversed(stopped):
                process.send_signal(signal.SIGCONT)

    def database(self) -> str:
        """The address of an empty database."""
        if self._free:
            return self.address(self._free.pop())
        name = f"d{next(self._numbers)}"
        self.run("postgres", f"CREATE DATABASE {name}")
        return self.address(name)

    def take_back(self, address: str) -> None:
        """Empty it for another test. One made anew each time would be slow: for the disk, and for a server that was killed
        and looks at every file before it comes back."""
        name = address.rpartition("/")[2]
        with psycopg.connect(self.address("postgres"), autocommit=True) as db:
            theirs = b"datname = %s AND backend_type = 'client backend'"
            db.execute(b"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE " + theirs, [name])
            db.execute(f"ALTER DATABASE {name} RESET ALL; GRANT CONNECT ON DATABASE {name} TO PUBLIC".encode())
        execute(address, "DROP SCHEMA IF EXISTS bascule CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        self._free.append(name)

    def address(self, name: str, *others: "PostgresServer") -> str:
        """The address of a database, on this server or whichever of all takes writes."""
        hosts = ",".join(quote(str(each.folder), safe="") for each in (self, *others))
        return f"postgresql://bascule@{hosts}/{name}"

    def run(self, name: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return execute(self.address(name), statement, *values)

    @contextmanager
    def guarded(self) -> Generator[None]:
        """Stopped and removed in the end, also when this process is killed."""
        ours, theirs = os.pipe()
        argv = ["sh", "-c", _GUARD, "sh", *self._control]
        environment = {**os.environ, "FOLDER": str(self.folder)}
        subprocess.run(argv, stdin=ours, cwd="/", env=environment, check=True, start_new_session=True)
        os.close(ours)
        try:
            self.start()
            yield
        finally:
            try:
                self.stop("immediate")
            finally:
                os.close(theirs)
                shutil.rmtree(self.folder, ignore_errors=True)


def execute(address: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """One statement, as an operator at the database would make it."""
    with psycopg.connect(address, autocommit=True) as db:
        made = db.execute(statement.encode(), values or None)
        return made.fetchall() if made.description else []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests of one worker."""
    if not installed():
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    server = made_server()
    with server.guarded():
        yield server


def installed() -> bool:
    return programs() is not None


def made_server() -> PostgresServer:
    """One that is not started yet, in a folder of its own."""
    found = programs()
    assert found is not None
    server = PostgresServer(found)
    server.initialise()
    return server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The address of an empty database that is this test's own."""
    address = postgres.database()
    yield address
    postgres.take_back(address)


def programs() -> Path | None:
    """Debian keeps them off the search path, one folder for each version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    plain = shutil.which("initdb")
    return found[-1].parent if found else Path(plain).parent if plain else None


def _as_postgres() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []


def _run(argv: list[str]) -> None:
    # Not our folder: the user of PostgreSQL may not even look at it.
    ended = subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/", timeout=LONGEST)
    assert ended.returncode == 0, f"{argv}: {ended.stdout}\n{ended.stderr}"
