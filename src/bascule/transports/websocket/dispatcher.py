"""WebSocket dispatcher: one text frame per message, in each direction. aiohttp opens the connection and parses frames;
outgoing frames are written here, in the step that checks the permit."""

import asyncio
from collections.abc import Mapping
from secrets import token_bytes

from aiohttp import WebSocketError, WSCloseCode, WSMsgType

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, ProtocolViolation
from bascule.transports.http.address import shown
from bascule.transports.http.sockets import Sockets
from bascule.transports.jsonrpc import MessageDispatcher
from bascule.transports.websocket.handshake import Frames, Opened, open_websocket, websocket_url
from bascule.wire.jsonrpc import sample
from bascule.wire.websocket_frames import CLOSE, NORMAL_CLOSURE, PONG, TEXT, client_frame

AT_A_TIME = 64
"""Frames taken before everybody else has a turn. A flood of tiny ones comes out of one read by the ten thousand."""


class WebSocketDispatcher(MessageDispatcher):
    """The conversation over one WebSocket. It is lost when either side closes it, or the connection under it ends."""

    kind = "ws"

    def __init__(self, url: str, headers: Mapping[str, str], *, max_message: int, connect_timeout: float) -> None:
        super().__init__(max_message)
        self._text = url
        self._headers = headers
        self._connect_timeout = connect_timeout
        self._where = ""
        self._opened: Opened | None = None
        self._opening: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._pong: bytes | None = None
        self._sockets = Sockets()

    async def open(self) -> None:
        if self._closing is not None:
            raise ConnectFailed("the link was closed before it was opened")
        self._opening = self._loop.create_task(self._connect())
        try:
            await self._opening
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.lost.done() or (task is not None and task.cancelling()):
                raise
            raise ConnectFailed("the link was closed while it was opened") from None

    async def close(self, grace: float) -> None:
        # One ending, however many ask for it, and none of them can cut it short.
        if self._closing is None:
            self._closing = self._loop.create_task(self._end(grace))
        await asyncio.shield(self._closing)

    def evidence(self) -> str:
        return ""

    def sever(self, reason: PeerError) -> None:
        super().sever(reason)
        if self._opening is not None:
            self._opening.cancel()

    def resume_output(self) -> None:
        super().resume_output()
        self._send_pong()

    async def _connect(self) -> None:
        url = websocket_url(self._text)
        self._where = shown(url)
        self._sockets.leave = self.leave
        opened = await open_websocket(url, self._headers, self._max_message, self._connect_timeout, self._sockets)
        self._opened = opened
        # Nothing is asked for while something waits: what waits in our own buffer is beyond recall, yet has not left.
        opened.transport.set_write_buffer_limits(high=0)
        opened.transport.set_protocol(_Tap(opened.transport.get_protocol(), self))
        self.connect_output(self._write)
        self._reading = self._loop.create_task(self._read(opened.frames))

    # What goes.

    def _write(self, data: bytes) -> None:
        assert self._opened is not None
        lines = data[:-1].split(b"\n")
        self._opened.transport.write(b"".join([client_frame(TEXT, line, token_bytes(4)) for line in lines]))

    def _owe_pong(self, payload: bytes) -> None:
        """Answer the last ping of this step; the protocol asks for no more, and a flood gets no more."""
        if self._pong is None:
            self._loop.call_soon(self._send_pong)
        self._pong = payload

    def _send_pong(self) -> None:
        outbox = self._outbox
        if self._pong is None or self._opened is None or outbox is None or outbox.paused or self.lost.done():
            return
        pong, self._pong = self._pong, None
        # It needs no permit of its own: it holds nothing but the server's own bytes.
        if self._sockets.may_write():
            self._opened.transport.write(client_frame(PONG, pong, token_bytes(4)))

    # What comes.

    async def _read(self, frames: Frames) -> None:
        """Read to the end of the connection; after a loss, only for the sake of a clean closing."""
        while True:
            for _ in range(AT_A_TIME):
                frame = await frames.receive()
                kind = frame.type
                if kind is WSMsgType.TEXT or kind is WSMsgType.BINARY:
                    self.take((frame.data,))
                elif kind is WSMsgType.PING:
                    self._owe_pong(frame.data)
                elif kind is not WSMsgType.PONG:
                    self._ended(kind, frame.data, frame.extra)
                    return
            await asyncio.sleep(0)

    def _ended(self, kind: WSMsgType, data: object, extra: str | None) -> None:
        if kind is WSMsgType.CLOSE:
            self.lose(_closed(data, extra))
        elif isinstance(data, WebSocketError) and data.code == WSCloseCode.MESSAGE_TOO_BIG:
            self.overflow()
        elif isinstance(data, WebSocketError):
            evidence = sample(str(data).encode())
            self.lose(
                ProtocolViolation("the server broke the WebSocket protocol", where=self._where, evidence=evidence)
            )
        else:
            self.lose(ConnectionLost(f"the connection to {self._where} ended without a closing frame"))

    # The end.

    def _backlog(self) -> bool:
        transport = self._opened.transport if self._opened is not None else None
        # Below TLS there is another buffer, into which nobody can look.
        return transport is not None and (
            transport.get_write_buffer_size() > 0 or transport.get_extra_info("ssl_object") is not None
        )

    def _cut(self) -> None:
        super()._cut()
        self._sockets.sever()

    async def _end(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait((self._opening,))
        if self._opened is None or self._reading is None:
            return
        if self._outbox is not None and not self._outbox.paused and self._sockets.may_write():
            self._opened.transport.write(client_frame(CLOSE, NORMAL_CLOSURE, token_bytes(4)))
            await asyncio.wait((self._reading,), timeout=grace)
        self._reading.cancel()
        await asyncio.wait((self._reading,))
        await self._opened.close()


def _closed(code: object, reason: str | None) -> PeerError:
    said = sample(reason.encode()) if reason else ""
    return ConnectionLost(
        "the server closed the connection" + (f": {said}" if said else ""),
        evidence=f"close code {code}" if code else "close without a code",
    )


class _Tap(asyncio.Protocol):
    """aiohttp's own protocol, with an ear for whether the socket takes more: aiohttp tells nobody."""

    def __init__(self, inner: asyncio.BaseProtocol, server: WebSocketDispatcher) -> None:
        assert isinstance(inner, asyncio.Protocol)
        self._inner = inner
        self._server = server

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()
        self._server.pause_output()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
        self._server.resume_output()
