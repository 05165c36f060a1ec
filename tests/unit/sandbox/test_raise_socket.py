"""Level socket of a sandbox: raises one level, upwards, and does nothing else; and the provision of it."""

import asyncio
import json
import os
import random
import socket
import stat
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.config.state_dir import RAISE_SOCKET_VARIABLE
from bascule.core.errors import OutcomeWithheld, SandboxError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.levels.raising import Raising
from bascule.sandbox import raise_socket
from bascule.sandbox.process.child import Command
from bascule.sandbox.raise_socket import AT_ONCE, MOST_DATASETS, RaiseProvision, RaiseRequest, RaiseSocket
from bascule.sandbox.spec.box import RAISE_SOCKET
from bascule.sandbox.spec.launch_request import Order
from bascule.sensitivity.ratchet import Ratchets
from bascule.store.levels.interface import LevelStore
from bascule.wire.level_protocol import LONGEST, asking, raising
from support.auditing import Notes
from support.box_engines import NotingEngine
from support.level_stores import place_at
from support.waiting import fail_after, until

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-2")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity


class Scene:
    """A runtime's levels on a real store, and the socket that one box of Alice's is given."""

    def __init__(self, store: LevelStore, folder: Path) -> None:
        self.store = store
        self.ratchets = Ratchets()
        self.audit = Notes()
        self.raising = Raising(store, self.ratchets, lambda _: None, lambda: 7.0, self.audit)
        self.requests: asyncio.Queue[RaiseRequest] = asyncio.Queue()
        self.socket = self.socket_at(folder / "boxes" / "raise.sock", ALICE)
        # The folders of tests are deeper than a path of a socket may be.
        self._boxes = ThreadPoolExecutor(4 * AT_ONCE)
        self._folder = os.open(folder, os.O_RDONLY)
        self.path = f"/proc/self/fd/{self._folder}/boxes/raise.sock"

    def close(self) -> None:
        self._boxes.shutdown()
        os.close(self._folder)

    def socket_at(self, path: Path, principal: Principal) -> RaiseSocket:
        return RaiseSocket(path, principal, "records", self.ratchets, self.requests)

    def level(self, principal: Principal) -> DataSensitivity:
        return self.ratchets.of(principal).level

    async def said(self, line: bytes) -> dict[str, str]:
        reply = await self.heard(line)
        return json.loads(reply)

    async def heard(self, line: bytes) -> bytes:
        """What comes back for these bytes, to the end."""
        async with fail_after(20, "the answer"):
            return await asyncio.get_running_loop().run_in_executor(self._boxes, self._heard, line)

    def _heard(self, line: bytes) -> bytes:
        """In a thread, as a server in a box does: it waits in the kernel where others stand in line."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(self.path)
            try:
                connection.sendall(line)
                return b"".join(iter(partial(connection.recv, LONGEST), b""))
            except ConnectionError:
                return b""


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncGenerator[Scene]:
    async with place_at(None, tmp_path) as place:
        scene = Scene(await place.open(), tmp_path)
        await scene.raising.fence.open()
        await scene.raising.begin(ALICE)
        await scene.raising.begin(BOB)
        await scene.socket.open()
        serving = asyncio.create_task(scene.raising.serve(scene.requests))
        try:
            yield scene
        finally:
            await scene.socket.close()
            serving.cancel()
            await scene.raising.close()
            scene.close()


async def test_it_tells_the_level_of_the_one_it_belongs_to(scene: Scene):
    assert await scene.said(asking()) == {"level": "public"}
    await scene.raising.raise_to(BOB, SECRET, Cause("label"))
    assert await scene.said(asking()) == {"level": "public"}
    await scene.raising.raise_to(ALICE, CONFIDENTIAL, Cause("label"))
    assert await scene.said(asking()) == {"level": "confidential"}


async def test_a_raise_is_kept_with_its_dataset_and_its_server_and_touches_nobody_else(scene: Scene):
    assert await scene.said(raising("salaries", CONFIDENTIAL)) == {"level": "confidential"}

    kept = {record.principal: record for record in await scene.store.sessions()}
    assert (kept[ALICE].level, kept[ALICE].datasets) == (CONFIDENTIAL, {"salaries": CONFIDENTIAL})
    assert kept[BOB].level is PUBLIC
    (receipt,) = await scene.store.receipts(ALICE)
    assert receipt.cause == Cause("dataset", "records", dataset="salaries")


async def test_the_answer_comes_when_the_raise_has_been_seen_to_and_not_before(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    allowed = asyncio.Event()
    begun = asyncio.Event()
    raised = scene.raising.raise_to

    async def raise_to(principal: Principal, level: DataSensitivity, cause: Cause) -> None:
        begun.set()
        await allowed.wait()
        await raised(principal, level, cause)

    monkeypatch.setattr(scene.raising, "raise_to", raise_to)
    answer = asyncio.create_task(scene.said(raising("salaries", SECRET)))
    async with fail_after(20):
        await begun.wait()
        # Others are answered meanwhile, with what is so.
        assert await scene.said(asking()) == {"level": "public"}
        assert not answer.done()
        allowed.set()
        assert await answer == {"level": "secret"}
    assert (await scene.store.begin(ALICE, 0.0)).level is SECRET


async def test_a_box_that_is_closed_by_its_own_raise_has_raised_all_the_same(scene: Scene):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(scene.path)
    connection.sendall(raising("salaries", CONFIDENTIAL))
    connection.close()

    await until(lambda: scene.level(ALICE) is CONFIDENTIAL)
    await scene.socket.close()
    await scene.raising.close()
    assert (await scene.store.begin(ALICE, 0.0)).level is CONFIDENTIAL


async def test_nothing_lowers_a_level(scene: Scene):
    await scene.said(raising("salaries", SECRET))

    assert await scene.said(raising("salaries", PUBLIC)) == {"level": "secret"}
    assert await scene.said(raising("weather", PUBLIC)) == {"level": "secret"}
    assert (await scene.store.begin(ALICE, 0.0)).level is SECRET


async def test_what_an_operator_has_lowered_is_raised_again_by_the_same_dataset(scene: Scene):
    await scene.said(raising("salaries", CONFIDENTIAL))
    record, _ = await scene.store.lower_level(ALICE, PUBLIC, Cause("operator"), 8.0)
    scene.ratchets.of(ALICE).follow(record)
    assert await scene.said(asking()) == {"level": "public"}

    assert await scene.said(raising("salaries", CONFIDENTIAL)) == {"level": "confidential"}
    assert (await scene.store.begin(ALICE, 0.0)).level is CONFIDENTIAL


async def test_a_request_ends_as_the_task_ended_that_raises():
    loop = asyncio.get_running_loop()

    async def raised() -> None: ...

    async def failed() -> None:
        raise SandboxError("a box may still run")

    async def unending() -> None:
        await asyncio.Event().wait()

    tasks = [loop.create_task(work) for work in (raised(), failed(), unending(), failed())]
    requests = [RaiseRequest(ALICE, SECRET, Cause("dataset"), loop.create_future()) for _ in tasks]
    requests[3].done.cancel()  # the server has left
    for request, task in zip(requests, tasks, strict=True):
        task.add_done_callback(request.settle)
    await asyncio.sleep(0)
    tasks[2].cancel()
    await asyncio.wait([request.done for request in requests])

    assert requests[0].done.result() is None
    assert isinstance(requests[1].done.exception(), SandboxError)
    assert requests[2].done.cancelled()
    assert requests[3].done.cancelled()


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[2J", "x" * 256])
async def test_what_is_no_name_is_answered_and_raises_nothing(scene: Scene, name: str):
    assert "the name of a dataset" in (await scene.said(raising(name, SECRET)))["error"]
    assert scene.level(ALICE) is PUBLIC


async def test_a_level_that_cannot_be_kept_is_an_error_that_shows_nothing_of_this_machine(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    async def raise_to(*_: object) -> None:
        raise OutcomeWithheld("/home/operator/.local/state/bascule is full", rule="kept")

    monkeypatch.setattr(scene.raising, "raise_to", raise_to)
    assert await scene.said(raising("salaries", SECRET)) == {"error": "the level could not be kept"}


async def test_the_same_again_is_not_written_again(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    asked: list[Cause] = []
    raised = scene.raising.raise_to

    async def raise_to(principal: Principal, level: DataSensitivity, cause: Cause) -> None:
        asked.append(cause)
        await raised(principal, level, cause)

    monkeypatch.setattr(scene.raising, "raise_to", raise_to)
    for level in (INTERNAL, INTERNAL, CONFIDENTIAL, INTERNAL, CONFIDENTIAL):
        await scene.said(raising("salaries", level))

    assert len(asked) == 2
    assert scene.level(ALICE) is CONFIDENTIAL


async def test_more_names_than_are_kept_raise_all_the_same(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    assert MOST_DATASETS == 1000
    monkeypatch.setattr(raise_socket, "MOST_DATASETS", 3)
    for number in range(5):
        await scene.said(raising(f"set {number}", INTERNAL))
    assert await scene.said(raising("one more", SECRET)) == {"level": "secret"}

    record = await scene.store.begin(ALICE, 0.0)
    assert (record.level, len(record.datasets)) == (SECRET, 3)


async def test_it_lies_in_a_folder_of_ours_where_whoever_is_in_the_box_may_use_it(scene: Scene):
    path = scene.socket.path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o666

    await scene.socket.close()
    await scene.socket.close()
    assert not path.exists()


async def test_one_that_was_left_is_replaced_and_a_path_may_be_long(scene: Scene, tmp_path: Path):
    path = tmp_path / ("deep" * 30) / "raise.sock"
    path.parent.mkdir(mode=0o700)
    path.write_text("left")
    other = scene.socket_at(path, BOB)
    await other.open()
    try:
        assert len(str(path)) > 108
        assert path.is_socket()
    finally:
        await other.close()


async def test_a_folder_that_others_may_enter_is_not_used(scene: Scene, tmp_path: Path):
    (tmp_path / "shared").mkdir(mode=0o755)
    with pytest.raises(SandboxError, match="cannot be given a socket") as caught:
        await scene.socket_at(tmp_path / "shared/raise.sock", BOB).open()
    assert "others may enter" in caught.value.evidence


async def test_whatever_is_sent_harms_nobody(scene: Scene, scale: int):
    draw = random.Random(7)
    good = [asking(), raising("salaries", PUBLIC)]
    for _ in range(150 * scale):
        line = bytearray(draw.choice(good))
        for _ in range(draw.randrange(4)):
            line[draw.randrange(len(line))] = draw.randrange(256)
        cut = draw.choice([len(line), draw.randrange(len(line))])
        reply = await scene.heard(bytes(line[:cut]) + b"\n" * draw.randrange(1, 3))
        assert b'"level"' in reply or b'"error"' in reply, (line, reply)
        assert reply.count(b"\n") == 1

    assert scene.level(BOB) is PUBLIC
    assert await scene.said(asking()) == {"level": scene.level(ALICE).name.lower()}


@pytest.mark.parametrize("line", [b"x" * (LONGEST * 50), b"[" * (LONGEST * 4) + b"\n", b"\0" * 100_000])
async def test_a_line_without_an_end_is_not_read_to_its_end(scene: Scene, line: bytes):
    reply = await scene.heard(line)

    # What is left unread makes the kernel drop the answer, where it is quicker than the one who asks.
    assert reply == b"" or b'"error"' in reply
    assert await scene.said(asking()) == {"level": "public"}


async def test_who_sends_without_end_is_cut_off(scene: Scene):
    def send() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(20)
            connection.connect(scene.path)
            connection.sendall(b"x" * 8 * 1024 * 1024)

    with pytest.raises(ConnectionError):
        await asyncio.to_thread(send)
    assert await scene.said(asking()) == {"level": "public"}


async def test_requests_over_the_inherited_connection_are_answered_each_on_its_own(scene: Scene):
    def asked(inherited: socket.socket, *lines: bytes) -> list[bytes]:
        ends: list[socket.socket] = []
        for line in lines:
            ours, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(inherited, [b"\n"], [theirs.fileno()])
            ours.sendall(line)
            ends.append(ours)
        replies: list[bytes] = []
        for end in ends:
            with end:
                replies.append(end.recv(LONGEST))
        return replies

    with socket.socket(socket.AF_UNIX) as inherited:
        inherited.connect(scene.path)
        lines = [asking(), raising("salaries", CONFIDENTIAL), b"nonsense\n"] * AT_ONCE
        async with fail_after(20, "the replies"):
            replies = await asyncio.to_thread(asked, inherited, *lines)
        assert all(json.loads(reply) for reply in replies)
        assert [json.loads(reply).get("level") for reply in replies[1::3]] == ["confidential"] * AT_ONCE
        assert ["error" in json.loads(reply) for reply in replies[2::3]] == [True] * AT_ONCE
        assert scene.level(ALICE) is CONFIDENTIAL


async def test_descriptors_that_are_no_unix_stream_are_closed(scene: Scene, tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    fifo = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
    with (
        socket.socket(socket.AF_UNIX) as inherited,
        socket.socket() as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
    ):
        inherited.connect(scene.path)
        before = len([*Path("/proc/self/fd").iterdir()])
        for descriptor in (fifo, tcp.fileno(), udp.fileno()) * AT_ONCE:
            socket.send_fds(inherited, [b"\n"], [descriptor])
        socket.send_fds(inherited, [b"\n"], [fifo, fifo, fifo])
        assert await scene.said(asking()) == {"level": "public"}
        await until(lambda: len([*Path("/proc/self/fd").iterdir()]) <= before + 2)
    os.close(fifo)


async def test_who_says_nothing_is_let_go_and_takes_no_room_for_ever(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(raise_socket, "PATIENCE", 0.05)
    silent = [await asyncio.open_unix_connection(scene.path) for _ in range(AT_ONCE + 2)]
    try:
        assert await scene.said(asking()) == {"level": "public"}
        async with fail_after(20, "being let go"):
            # The first one counts as the inherited connection, which may be idle.
            for reader, _ in silent[1:]:
                assert await reader.read() == b""
    finally:
        for _, writer in silent:
            writer.close()


async def test_no_more_are_answered_at_once_than_may_be(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    allowed = asyncio.Event()
    under_way = most = 0

    async def raise_to(*_: object) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await allowed.wait()
        under_way -= 1

    monkeypatch.setattr(scene.raising, "raise_to", raise_to)
    asked = [asyncio.create_task(scene.said(raising(f"set {number}", PUBLIC))) for number in range(3 * AT_ONCE)]
    await until(lambda: under_way == AT_ONCE)
    allowed.set()
    async with fail_after(20):
        await asyncio.gather(*asked)
    assert most == AT_ONCE


async def test_who_asks_too_often_waits(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(raise_socket, "PACE", 5)
    monkeypatch.setattr(asyncio, "sleep", noted)
    for _ in range(12):
        await scene.said(asking())

    assert any(0 < each <= 1.0 for each in waits)


ENGINE = NotingEngine()


def of_kit(principal: Principal) -> Order:
    command = Command(("records",), {RAISE_SOCKET_VARIABLE: RAISE_SOCKET})
    return Order("records", Lane.OPEN, principal, command, Sandbox())


async def asked(path: str, request: object) -> object:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(json.dumps(request).encode() + b"\n")
    answer = await reader.readline()
    writer.close()
    return json.loads(answer)


async def test_each_box_of_a_kit_server_has_a_socket_of_its_own_agent_session(tmp_path: Path):
    provision = RaiseProvision(tmp_path / "raise", Ratchets())
    alices, bobs = [await provision.before(ENGINE, of_kit(who)) for who in (ALICE, BOB)]

    wanted = {"raise": {"dataset": "payroll", "sensitivity": "secret"}}
    answer = asyncio.create_task(asked(alices.sockets[RAISE_SOCKET], wanted))
    request = await provision.requests.get()
    assert (request.principal, request.level) == (ALICE, SECRET)
    assert request.cause == Cause("dataset", "records", dataset="payroll")
    request.done.set_result(None)
    assert await answer == {"level": "secret"}

    for order in (alices, bobs):
        await provision.after(order)
    assert list((tmp_path / "raise").iterdir()) == []


async def test_no_other_server_has_one(tmp_path: Path):
    provision = RaiseProvision(tmp_path / "raise", Ratchets())
    order = Order("files", Lane.OPEN, ALICE, Command(("files",), {}), Sandbox())

    assert await provision.before(ENGINE, order) is order
    await provision.after(order)
    assert not (tmp_path / "raise").exists()


async def test_a_socket_that_others_could_reach_is_not_made_and_so_no_box(tmp_path: Path):
    (tmp_path / "raise").mkdir(mode=0o755)
    provision = RaiseProvision(tmp_path / "raise", Ratchets())

    with pytest.raises(SandboxError, match="cannot be given a socket"):
        await provision.before(ENGINE, of_kit(ALICE))
