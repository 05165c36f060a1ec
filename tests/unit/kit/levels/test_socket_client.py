"""Levels of a server in a box: asked for over a socket, and never guessed."""

import asyncio
import socket
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest

from bascule.config.state_dir import LANE_VARIABLE, RAISE_DESCRIPTOR_VARIABLE, RAISE_SOCKET_VARIABLE
from bascule.core.errors import Refused, StoreError, UsageError
from bascule.core.sensitivity import DataSensitivity
from bascule.kit.admission import Admission
from bascule.kit.levels import socket_client
from bascule.kit.levels.files import KeptLevels
from bascule.kit.levels.socket_client import SocketLevels
from bascule.kit.request_context import Home
from support.kit import ALICE, BOB, CONNECT, READ, on_behalf_of
from support.waiting import until

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


class Keeper:
    """Whoever made the box, in a thread: answers each line with what it is told to."""

    def __init__(self, path: Path, *, inherited: bool) -> None:
        self.path = str(path)
        self._inherited = inherited
        self.reply: bytes | None = b'{"level":"public"}\n'
        self.heard: list[bytes] = []
        self.held: Event | None = None
        """If set, the answer to the next line waits for this, and is what it was to be when the line came."""
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(self.path)
        self._listening.listen(32)
        self._connections: list[socket.socket] = []

    def levels(self) -> SocketLevels:
        """A client with an inherited connection, or one that connects to the path."""
        if not self._inherited:
            return SocketLevels(self.path)
        connection = socket.socket(socket.AF_UNIX)
        self._connections.append(connection)
        connection.connect(self.path)
        return SocketLevels("", connection.fileno())

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        if not self._inherited:
            self._answer(connection)
            return
        with connection:
            while descriptors := socket.recv_fds(connection, 1, 1)[1]:
                Thread(target=self._answer, args=(socket.socket(fileno=descriptors[0]),), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            line = connection.recv(8192)
            reply, held = self.reply, self.held
            self.held = None
            self.heard.append(line)
            if held is not None:
                held.wait(20)
            # Who asked may have given up.
            with suppress(OSError):
                connection.sendall(reply or b"")

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for each in (self._listening, *self._connections):
            each.close()


@contextmanager
def kept(path: Path, *, inherited: bool) -> Generator[Keeper]:
    keeper = Keeper(path, inherited=inherited)
    thread = Thread(target=keeper.serve)
    thread.start()
    try:
        yield keeper
    finally:
        keeper.close()
        thread.join()


@pytest.fixture(params=[True, False], ids=["inherited", "path"])
def keeper(request: pytest.FixtureRequest) -> Generator[Keeper]:
    # The folders of tests are deeper than a path of a socket may be.
    with TemporaryDirectory() as folder, kept(Path(folder) / "raise.sock", inherited=request.param) as keeper:
        yield keeper


async def test_it_asks_whoever_made_the_box(keeper: Keeper):
    levels = keeper.levels()
    assert levels.seen(ALICE) is None
    assert await levels.look(ALICE) is PUBLIC
    keeper.reply = b'{"level":"secret"}\n'
    assert levels.look_now(ALICE) is SECRET
    assert levels.seen(ALICE) is SECRET
    assert keeper.heard == [b'{"ask":"level"}\n'] * 2


async def test_a_dataset_is_told_of_and_the_answer_is_the_level(keeper: Keeper):
    levels = keeper.levels()
    keeper.reply = b'{"level":"secret"}\n'
    levels.add(ALICE, "salaries", CONFIDENTIAL)

    assert levels.seen(ALICE) is SECRET
    assert keeper.heard == [b'{"raise":{"dataset":"salaries","sensitivity":"confidential"}}\n']


async def test_a_raise_that_raised_nothing_is_an_error(keeper: Keeper):
    with pytest.raises(StoreError, match="cannot be told"):
        keeper.levels().add(ALICE, "salaries", CONFIDENTIAL)


@pytest.mark.parametrize(
    "reply", [None, b"", b"\n", b"{}\n", b'{"level":"none"}\n', b'{"error":"no room"}\n', b"x" * 20_000, b'{"level":']
)
async def test_what_tells_no_level_is_an_error_and_never_a_level(keeper: Keeper, reply: bytes | None):
    levels = keeper.levels()
    keeper.reply = reply

    with pytest.raises(StoreError):
        await levels.look(ALICE)
    with pytest.raises(StoreError):
        levels.look_now(ALICE)
    with pytest.raises(StoreError):
        levels.add(ALICE, "salaries", PUBLIC)
    assert levels.seen(ALICE) is None


@pytest.mark.parametrize("path", ["/nowhere/raise.sock", "", "x" * 300])
async def test_a_socket_that_is_not_there_is_an_error_and_nothing_is_done(path: str):
    levels = SocketLevels(path)
    with pytest.raises(StoreError):
        levels.add(ALICE, "salaries", CONFIDENTIAL)
    with on_behalf_of(ALICE):
        for permission in (READ, CONNECT):
            with pytest.raises(Refused, match="cannot be told") as caught:
                await Admission(levels, {LANE_VARIABLE: "sealed"}).admit("look", frozenset({permission}))
            assert isinstance(caught.value.__cause__, StoreError)
        assert Admission(levels, {}).seen() is SECRET


async def test_whoever_does_not_answer_is_not_waited_for_for_ever(keeper: Keeper, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket_client, "PATIENCE", 0.05)
    keeper.held = held = Event()
    with pytest.raises(StoreError):
        keeper.levels().look_now(ALICE)
    held.set()


async def test_it_speaks_for_one_agent_session_alone(keeper: Keeper):
    levels = keeper.levels()
    keeper.reply = b'{"level":"secret"}\n'
    await levels.look(ALICE)

    for asked in (lambda: levels.look_now(BOB), lambda: levels.add(BOB, "salaries", SECRET)):
        with pytest.raises(StoreError) as caught:
            asked()
        assert "another agent session" in caught.value.evidence
    assert levels.seen(BOB) is None
    assert len(keeper.heard) == 1


async def test_an_answer_that_was_overtaken_does_not_hide_a_raise(keeper: Keeper):
    levels = keeper.levels()
    keeper.held = held = Event()
    slow = asyncio.create_task(levels.look(ALICE))
    await until(lambda: bool(keeper.heard))
    keeper.reply = b'{"level":"confidential"}\n'
    levels.add(ALICE, "salaries", CONFIDENTIAL)
    held.set()

    assert await slow is PUBLIC
    assert levels.seen(ALICE) is CONFIDENTIAL
    # An operator has declassified it since.
    keeper.reply = b'{"level":"public"}\n'
    assert levels.look_now(ALICE) is PUBLIC
    assert levels.seen(ALICE) is PUBLIC


async def test_it_may_be_asked_from_many_threads(keeper: Keeper):
    levels = keeper.levels()
    keeper.reply = b'{"level":"internal"}\n'
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(levels.add, ALICE, f"set-{number}", INTERNAL) for number in range(32)]
    for each in asked:
        each.result()
    assert (levels.seen(ALICE), len(keeper.heard)) == (INTERNAL, 32)


def test_a_server_uses_it_where_one_is_named_and_makes_no_folder(tmp_path: Path):
    named = {RAISE_SOCKET_VARIABLE: "/run/bascule/raise.sock", "HOME": str(tmp_path)}
    home = Home("records", environ=named)
    assert isinstance(home.levels, SocketLevels)
    # Whatever folder its author chose: in a box that would be clean each time.
    assert isinstance(Home("records", folder=tmp_path, environ=named).levels, SocketLevels)
    # Named, and empty: somebody meant to name one.
    assert isinstance(Home("records", environ={**named, RAISE_SOCKET_VARIABLE: ""}).levels, SocketLevels)
    assert isinstance(Home("records", folder=tmp_path, environ={}).levels, KeptLevels)
    home.close()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("descriptor", ["", "x", "-1", "999", "9" * 40, "\u0663"])
def test_a_descriptor_that_leads_nowhere_is_an_error_and_never_a_level(descriptor: str):
    levels = SocketLevels.named_in({RAISE_DESCRIPTOR_VARIABLE: descriptor})
    assert levels is not None
    with pytest.raises(StoreError):
        levels.look_now(ALICE)


def test_programs_that_the_server_starts_do_not_inherit_the_connection():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.set_inheritable(True)
        SocketLevels("", ours.fileno())
        assert not ours.get_inheritable()


def test_in_a_box_no_test_moves_the_levels(tmp_path: Path):
    with pytest.raises(UsageError, match="runs in a box"):
        SocketLevels("/run/bascule/raise.sock").move(tmp_path)
