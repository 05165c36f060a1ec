import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from support.fault_proxy import Address, FaultProxy, fault_proxy
from support.faults import Cut, HalfClose, Latency, Refuse, Reset, Slices, Stall
from support.http_servers import socket_file
from support.waiting import fail_after

ALPHABET = b"abcdefghijklmnopqrstuvwxyz"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Echo:
    """Gives back every byte, and keeps what it got."""

    def __init__(self) -> None:
        self.got = bytearray()
        self.endings: asyncio.Queue[str] = asyncio.Queue()
        self.whole = asyncio.Event()
        """Set once the whole alphabet has come."""
        self._tasks: list[asyncio.Task[None]] = []

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.append(asyncio.create_task(self._serve(reader, writer)))

    async def stop(self) -> None:
        """Once everybody else has gone."""
        await asyncio.gather(*self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1000):
                self.got += data
                if len(self.got) >= len(ALPHABET):
                    self.whole.set()
                writer.write(data)
                await writer.drain()
            self.endings.put_nowait("end")
        except ConnectionResetError:
            self.endings.put_nowait("reset")
        finally:
            writer.close()


@asynccontextmanager
async def echoed(seed: int = 0) -> AsyncGenerator[tuple[FaultProxy, Echo]]:
    echo = Echo()
    async with fail_after(20), await asyncio.start_server(echo.connected, "127.0.0.1", 0) as server:
        async with fault_proxy(server.sockets[0].getsockname(), seed) as proxy:
            yield proxy, echo
        await echo.stop()


@asynccontextmanager
async def reached(address: Address) -> AsyncGenerator[Ends]:
    ends = await (
        asyncio.open_unix_connection(address) if isinstance(address, str) else asyncio.open_connection(*address)
    )
    try:
        yield ends
    finally:
        ends[1].close()


async def said(ends: Ends, data: bytes = ALPHABET) -> bytes:
    """Say it, and give back what came before the end of the connection."""
    ends[1].write(data)
    return await ends[0].read()


async def test_without_faults_everything_passes_both_ways():
    async with echoed() as (proxy, echo), reached(proxy.address) as (reader, writer):
        writer.write(ALPHABET * 10_000)
        writer.write_eof()
        assert await reader.read() == ALPHABET * 10_000
        assert echo.got == ALPHABET * 10_000
        assert await echo.endings.get() == "end"
        assert proxy.struck == []


@pytest.mark.parametrize("after", [0, 1, 13, 25])
async def test_a_cut_lets_exactly_so_many_bytes_through_and_then_both_sides_see_the_end(after: int):
    async with echoed() as (proxy, echo), reached(proxy.address) as ends:
        proxy.always(Cut(after))
        assert await said(ends) == ALPHABET[:after]
        assert await echo.endings.get() == "end"
        assert proxy.struck == [Cut(after)]


async def test_a_cut_on_the_way_up_keeps_the_rest_from_the_server():
    async with echoed() as (proxy, echo), reached(proxy.address) as ends:
        proxy.always(Cut(7, "up"))
        assert await said(ends) in {b"", ALPHABET[:7]}
        assert await echo.endings.get() == "end"
        assert echo.got == ALPHABET[:7]


@pytest.mark.parametrize("after", [0, 13])
async def test_a_reset_is_seen_as_a_reset_by_both_sides(after: int):
    async with echoed() as (proxy, echo), reached(proxy.address) as ends:
        proxy.always(Reset(after))
        with pytest.raises(ConnectionResetError):
            await said(ends)
        assert await echo.endings.get() == "reset"


async def test_what_one_side_resets_is_reset_for_the_other():
    async with echoed() as (proxy, echo), reached(proxy.address) as ends:
        ends[1].write(ALPHABET)
        assert await ends[0].readexactly(26) == ALPHABET
        proxy.drop()
        assert await echo.endings.get() == "reset"
        with pytest.raises(ConnectionResetError):
            await ends[0].read()


async def test_a_stalled_connection_passes_nothing_until_it_is_healed():
    async with echoed() as (proxy, echo), reached(proxy.address) as (reader, writer):
        proxy.always(Stall(5))
        writer.write(ALPHABET)
        assert await reader.readexactly(5) == ALPHABET[:5]
        rest = asyncio.create_task(reader.readexactly(21))
        await echo.whole.wait()
        assert not rest.done()
        assert proxy.struck == [Stall(5)]
        proxy.heal()
        assert await rest == ALPHABET[5:]


async def test_a_half_closed_connection_ends_one_way_and_goes_on_the_other():
    async with echoed() as (proxy, echo), reached(proxy.address) as (reader, writer):
        proxy.always(HalfClose(3))
        writer.write(ALPHABET)
        assert await reader.read() == ALPHABET[:3]
        writer.write(ALPHABET)
        writer.write_eof()
        assert await echo.endings.get() == "end"
        assert echo.got == ALPHABET * 2


async def test_slices_arrive_one_by_one():
    pieces: list[int] = []
    async with echoed() as (proxy, _), reached(proxy.address) as (reader, writer):
        proxy.always(Slices(2))
        writer.write(ALPHABET)
        while sum(pieces) < 26:
            pieces.append(len(await reader.read(1000)))
    assert len(pieces) > 3, pieces


async def test_latency_is_the_same_for_the_same_seed_and_another_for_another(monkeypatch: pytest.MonkeyPatch):
    async def waits(seed: int) -> list[float]:
        slept: list[float] = []
        turn = asyncio.sleep

        async def note(seconds: float) -> None:
            if seconds:
                slept.append(seconds)
            await turn(0)

        async with echoed(seed) as (proxy, _), reached(proxy.address) as (reader, writer):
            proxy.always(Latency(0.01, jitter=0.02))
            monkeypatch.setattr(asyncio, "sleep", note)
            writer.write(b"a")
            await reader.readexactly(1)
            monkeypatch.undo()
        return slept

    first = await waits(1)
    assert len(first) == 2
    assert all(0.01 <= seconds <= 0.03 for seconds in first)
    assert await waits(1) == first
    assert await waits(2) != first


async def test_a_refused_connection_is_reset_before_anything_passes():
    async with echoed() as (proxy, echo):
        proxy.always(Refuse())
        async with reached(proxy.address) as ends:
            with pytest.raises(ConnectionError):
                await said(ends)
        assert not echo.got
        assert proxy.struck == [Refuse()]
        proxy.heal()
        async with reached(proxy.address) as ends:
            ends[1].write_eof()
            assert await ends[0].read() == b""


async def test_nobody_gets_through_to_a_deafened_proxy_until_it_listens_again():
    async with echoed() as (proxy, _):
        proxy.deafen()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", proxy.port)
        await proxy.listen()
        async with reached(proxy.address) as (reader, writer):
            writer.write(ALPHABET)
            assert await reader.readexactly(26) == ALPHABET


async def test_nobody_gets_through_to_a_server_that_is_gone_until_another_takes_its_place():
    async with echoed() as (proxy, _):
        alive, proxy.upstream = proxy.upstream, ("127.0.0.1", 1)
        async with reached(proxy.address) as ends:
            with pytest.raises(ConnectionError):
                await said(ends)
        proxy.upstream = alive
        async with reached(proxy.address) as ends:
            ends[1].write_eof()
            assert await ends[0].read() == b""


async def test_a_fault_can_be_for_the_one_connection_that_asks_for_something():
    async with echoed() as (proxy, _), reached(proxy.address) as spared, reached(proxy.address) as meant:
        proxy.when_asked(b"this", Cut(2))
        for ends in (spared, meant):
            ends[1].write(b"some")
            assert await ends[0].readexactly(4) == b"some"
        assert await said(meant, b"just this one") == b"ju"
        spared[1].write(b"this again")
        assert await spared[0].readexactly(10) == b"this again", "it was for one connection alone"


async def test_a_fault_can_be_for_those_that_stand_and_began_in_a_certain_way():
    async with echoed() as (proxy, _), reached(proxy.address) as getting, reached(proxy.address) as posting:
        for ends, word in ((getting, b"GET"), (posting, b"POST")):
            ends[1].write(word)
            await ends[0].readexactly(len(word))
        assert proxy.now(Cut(1), opened_by=b"GET") == 1
        assert await said(getting) == b"a"
        posting[1].write(ALPHABET)
        assert await posting[0].readexactly(26) == ALPHABET
        async with reached(proxy.address) as later:
            later[1].write(b"GET it all")
            assert await later[0].readexactly(10) == b"GET it all"


async def test_a_healed_proxy_keeps_no_fault():
    async with echoed() as (proxy, _), reached(proxy.address) as (reader, writer):
        writer.write(b"a")
        await reader.readexactly(1)
        proxy.always(Slices(1), Latency(60.0))
        proxy.now(Cut(3))
        proxy.when_asked(b"z", Reset())
        proxy.heal()
        writer.write(ALPHABET)
        assert await reader.readexactly(26) == ALPHABET
        assert proxy.struck == []


async def test_socket_files_have_faults_too():
    with socket_file() as inner, socket_file() as outer:
        echo = Echo()
        async with fail_after(20), await asyncio.start_unix_server(echo.connected, inner):
            async with fault_proxy(inner, at=outer) as proxy:
                proxy.always(Cut(4))
                async with reached(proxy.address) as ends:
                    assert await said(ends) == ALPHABET[:4]
                proxy.always(Reset(4, "up"))
                async with reached(proxy.address) as ends:
                    assert await said(ends) in {b"", ALPHABET[:4]}
            await echo.stop()
        assert echo.got == ALPHABET + ALPHABET[:4]
