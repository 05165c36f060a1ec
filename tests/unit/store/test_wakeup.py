"""Ringing for other runtimes on the same machine."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bascule.store.wakeup import LONGEST_PATH, Bell
from support.waiting import fail_after

Made = Callable[..., Bell]


@pytest.fixture
def database() -> Iterator[Path]:
    """Where the path is short enough for a socket, whatever the tests' own folder is called."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "b.db"


@pytest.fixture
def made() -> Iterator[Made]:
    bells: list[Bell] = []

    def make(database: Path) -> Bell:
        bells.append(Bell(database))
        return bells[-1]

    yield make
    for bell in bells:
        bell.take_down()


def folder(database: Path) -> Path:
    return database.with_name("b.db-bells")


async def heard(bell: Bell) -> None:
    async with fail_after(20, "a ring"):
        await bell.rung()


async def silent(bell: Bell) -> bool:
    try:
        async with asyncio.timeout(0.05):
            await bell.rung()
    except TimeoutError:
        return True
    return False


async def test_a_ring_wakes_all_others_and_not_whoever_rings(database: Path, made: Made):
    one, two, three = made(database), made(database), made(database)
    for bell in (one, two, three):
        bell.hang()
    one.ring()

    await heard(two)
    await heard(three)
    assert await silent(one)


async def test_many_rings_are_one(database: Path, made: Made):
    one, two = made(database), made(database)
    two.hang()
    for _ in range(1000):
        one.ring()

    await heard(two)
    assert await silent(two)


async def test_all_who_wait_at_one_bell_are_woken_up(database: Path, made: Made):
    one, two = made(database), made(database)
    waiting = [asyncio.ensure_future(heard(two)) for _ in range(3)]
    await asyncio.sleep(0)
    one.ring()

    await asyncio.gather(*waiting)


async def test_a_ring_with_nobody_there_does_nothing(database: Path, made: Made):
    made(database).ring()

    assert not folder(database).exists()


async def test_the_socket_is_only_ours_and_goes_with_its_bell(database: Path, made: Made):
    one, two = made(database), made(database)
    one.hang()
    two.hang()
    assert folder(database).stat().st_mode & 0o077 == 0
    assert len(list(folder(database).iterdir())) == 2
    one.take_down()
    assert len(list(folder(database).iterdir())) == 1
    two.take_down()
    two.take_down()
    assert not folder(database).exists()


async def test_a_bell_is_hung_also_while_others_are_taken_down(database: Path, made: Made):
    """The last one takes the folder with it, at any moment."""

    def hang_and_take_down(_: int) -> None:
        bell = Bell(database)
        bell.hang()
        bell.take_down()

    with ThreadPoolExecutor(4) as threads:
        done = threads.map(hang_and_take_down, range(400))
        bells = [made(database) for _ in range(50)]
        for bell in bells:
            bell.hang()
            assert bell._socket is not None
            bell.take_down()
        list(done)


async def test_whoever_waits_at_a_bell_that_is_taken_down_waits_no_longer(database: Path, made: Made):
    bell = made(database)
    waiting = asyncio.ensure_future(heard(bell))
    await asyncio.sleep(0)
    bell.take_down()

    await waiting


async def test_what_a_killed_process_left_is_cleared_away(database: Path, made: Made):
    program = (
        "import sys; from pathlib import Path; from bascule.store.wakeup import Bell; Bell(Path(sys.argv[1])).hang()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(database)], check=True)
    assert len(list(folder(database).iterdir())) == 1
    one, two = made(database), made(database)
    two.hang()
    one.ring()

    await heard(two)
    assert len(list(folder(database).iterdir())) == 1


async def test_what_else_lies_in_the_folder_is_left_alone(database: Path, made: Made):
    one, two = made(database), made(database)
    two.hang()
    (folder(database) / "note").write_text("mine")
    one.ring()

    await heard(two)
    assert (folder(database) / "note").read_text() == "mine"


async def test_a_datagram_from_anybody_is_only_a_reason_to_look(database: Path, made: Made):
    bell = made(database)
    bell.hang()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.sendto(b"level=PUBLIC" * 1000, str(next(folder(database).iterdir())))

    await heard(bell)


async def test_a_path_too_long_for_a_socket_is_no_obstacle(tmp_path: Path, made: Made):
    database = tmp_path / ("long" * 40) / "b.db"
    database.parent.mkdir()
    one, two, elsewhere = made(database), made(database), made(database.with_name("c.db"))
    for bell in (one, two, elsewhere):
        bell.hang()
    place = one._folder
    try:
        assert len(os.fsencode(place / ("0" * 16))) <= LONGEST_PATH
        assert place.stat().st_mode & 0o077 == 0
        one.ring()

        await heard(two)
        assert await silent(elsewhere)
    finally:
        for bell in (one, two, elsewhere):
            bell.take_down()
    assert not place.exists()


async def test_where_every_path_is_too_long_no_folder_is_left(
    tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch
):
    far = tmp_path / ("x" * 100)
    far.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(far))
    bell = made(far / "bascule.db")
    bell.hang()

    assert list(far.iterdir()) == []


async def test_a_folder_that_others_may_enter_is_not_used(database: Path, made: Made):
    folder(database).mkdir(mode=0o777)
    folder(database).chmod(0o777)
    one, two = made(database), made(database)
    two.hang()
    one.ring()

    assert list(folder(database).iterdir()) == []
    assert await silent(two)


async def test_where_there_can_be_no_socket_nobody_rings(database: Path, made: Made):
    folder(database).write_text("in the way")
    one, two = made(database), made(database)
    one.ring()

    assert await silent(two)
