"""The way to another gateway, which may answer, have nothing to do with it, be gone, or go in the midst of it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule.gateway.cluster.address import InnerAddress, socket_in
from bascule.gateway.cluster.forward import Broken, Letter, Moved, Relay, Unreachable, carried
from bascule.gateway.cluster.membership import Membership
from bascule.gateway.http.body import Room
from bascule.gateway.limits import Allowance
from bascule.store.owners import Member
from bascule.store.sqlite.store import SqliteStore
from support.waiting import fail_after, until

LETTER = Letter("POST", [("mcp-method", "tools/call")], b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nX-Own: 1\r\n\r\n{}"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Sent(list[dict[str, Any]]):
    """What the client was sent."""

    async def __call__(self, event: dict[str, Any]) -> None:
        self.append(event)

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self)


@asynccontextmanager
async def way(folder: Path, answer: bytes, *, cut: bool = False) -> AsyncGenerator[tuple[Relay, Member, list[bytes]]]:
    """A relay, and a member that gives this answer to whatever it is asked."""
    asked: list[bytes] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(2))
        writers.append(writer)
        writer.write(answer)
        await writer.drain()
        if cut:
            writer.close()

    listening, theirs = socket_in(folder)
    store = SqliteStore(folder / "bascule.db")
    own = InnerAddress("", theirs.place)
    relay = Relay(Membership(store.owners, str(own), lambda _: None), own)
    server = await asyncio.start_unix_server(serve, sock=listening)
    try:
        async with fail_after(20, "an answer"):
            yield relay, Member("two", str(theirs)), asked
    finally:
        await relay.close()
        server.close()
        for writer in writers:
            writer.transport.abort()
        await store.close()


async def test_an_answer_comes_back_with_what_is_the_clients_business(tmp_path: Path):
    sent = Sent()
    async with way(tmp_path, OK) as (relay, member, asked):
        await relay.carry(LETTER, member, sent)
    assert sent[0]["status"] == 200
    assert sent[0]["headers"] == [(b"content-type", b"application/json"), (b"content-length", b"2")]
    assert sent.body == b"{}"
    assert b"mcp-method: tools/call" in asked[0]


async def test_events_are_passed_on_whole(tmp_path: Path):
    whole, half = b"data: 1\r\n\r\n", b"data: 2"
    sent = Sent()
    async with way(tmp_path, EVENTS + chunk(whole + half), cut=True) as (relay, member, _):
        with pytest.raises(Broken) as caught:
            await relay.carry(LETTER, member, sent)
    assert caught.value.begun
    assert sent.body == whole


async def test_all_events_come(tmp_path: Path):
    sent = Sent()
    pieces = chunk(b"data: 1\r\n\r\nda") + chunk(b"ta: 2\n\n") + b"0\r\n\r\n"
    async with way(tmp_path, EVENTS + pieces) as (relay, member, _):
        await relay.carry(LETTER, member, sent)
    assert sent.body == b"data: 1\r\n\r\ndata: 2\n\n"
    assert not sent[-1].get("more_body", False)


async def test_of_an_answer_that_is_cut_off_nothing_is_passed_on(tmp_path: Path):
    sent = Sent()
    async with way(tmp_path, OK[:-1], cut=True) as (relay, member, _):
        with pytest.raises(Broken) as caught:
            await relay.carry(LETTER, member, sent)
    assert not caught.value.begun
    assert sent == []


async def test_one_who_does_not_serve_it_says_who_does(tmp_path: Path):
    moved = b"HTTP/1.1 421 Elsewhere\r\nbascule-moved: three\r\nContent-Length: 0\r\n\r\n"
    async with way(tmp_path, moved) as (relay, member, _):
        with pytest.raises(Moved) as caught:
            await relay.carry(LETTER, member, Sent())
    assert caught.value.to == "three"


async def test_what_broke_further_on_is_broken(tmp_path: Path):
    broken = b"HTTP/1.1 502 Broken\r\nbascule-broken: 1\r\nContent-Length: 0\r\n\r\n"
    async with way(tmp_path, broken) as (relay, member, _):
        with pytest.raises(Broken):
            await relay.carry(LETTER, member, Sent())


@pytest.mark.parametrize("left", [True, False])
async def test_a_socket_at_which_nobody_listens_says_that_its_process_has_ended(tmp_path: Path, left: bool):
    async with way(tmp_path, OK) as (relay, _, _):
        gone, address = socket_in(tmp_path)
        gone.close()
        if not left:
            address.remove()
        with pytest.raises(Unreachable) as caught:
            await relay.carry(LETTER, Member("gone", str(address)), Sent())
    assert caught.value.gone


async def test_one_on_another_machine_is_only_out_of_reach(tmp_path: Path):
    async with way(tmp_path, OK) as (relay, member, _):
        own = InnerAddress.read(member.address)
        for url in ("", "http://127.0.0.1:1"):
            elsewhere = InnerAddress(own.path, "another place", url)
            with pytest.raises(Unreachable) as caught:
                await relay.carry(LETTER, Member("two", str(elsewhere)), Sent())
            assert not caught.value.gone


def test_the_token_stays_here_and_what_came_twice_goes_along():
    headers = [
        (b"authorization", b"Bearer x"),
        (b"cookie", b"x"),
        (b"mcp-name", b"a"),
        (b"mcp-name", b"b"),
        (b"accept", b"*/*"),
    ]
    assert carried(headers) == [("mcp-name", "a"), ("mcp-name", "b"), ("accept", "*/*")]
    assert carried([(b"mcp-name", b"\xff")]) is None


async def test_a_large_letter_whose_answer_is_a_stream_makes_room_for_what_may_have_to_be_answered(tmp_path: Path):
    room, who = Room(10, 10), Allowance()
    held = await room.enter(10, who)
    async with way(tmp_path, EVENTS + chunk(b"data: {}\n\n")) as (relay, member, _):
        sent = Sent()
        carrying = asyncio.ensure_future(relay.carry(Letter("POST", [], b"{}", held), member, sent))
        await until(lambda: bool(sent))
        (await room.enter(10, who)).release()
        carrying.cancel()
        await asyncio.wait((carrying,))
