"""Dispatcher for Python functions of this program as a server, with the permits, deadlines and limits of any other."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import get_ident
from typing import Any

import msgspec

from bascule.core.errors import ConnectionLost, PeerError, ReplyTimeout
from bascule.core.json_types import JsonObject, as_object
from bascule.core.principal import Principal
from bascule.core.request import Request
from bascule.identity.current import CURRENT as WHO
from bascule.transports.inprocess.python_tool import NativeTool
from bascule.transports.inprocess.python_types import Progress, unheard
from bascule.transports.jsonrpc import MessageDispatcher
from bascule.transports.outbox import AtOnce
from bascule.wire.framing import too_long
from bascule.wire.jsonrpc import write_error, write_notification, write_result
from bascule.wire.request_meta import INVALID_PARAMS, METHOD_NOT_FOUND, NEW_VERSIONS

RUNS_ON = "the function runs on in its thread: nothing can end it there, and what it still does is done"


class _Asked(msgspec.Struct):
    """A message of ours, as a server reads it."""

    method: str
    id: int | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    meta: JsonObject = msgspec.field(name="_meta", default_factory=dict[str, Any])


class NativeDispatcher(MessageDispatcher):
    """The conversation with functions of this program. What they are given and what they give back is written and read
    on the way, so neither side can change what the other has."""

    kind = "native"

    def __init__(self, tools: Iterable[NativeTool], *, max_message: int, principal: Principal | None = None) -> None:
        super().__init__(max_message)
        self._tools = {tool.name: tool for tool in tools}
        self._principal = principal
        self._running: dict[int | None, asyncio.Task[JsonObject]] = {}
        self._threads: set[asyncio.Future[Any]] = set()
        self._ending: set[asyncio.Task[JsonObject]] = set()
        """What was told to end, and may have something to put away."""

    async def open(self) -> None:
        self._outbox = AtOnce(self._write, self.leave)

    async def send(self, request: Request) -> JsonObject:
        try:
            return await super().send(request)
        except ReplyTimeout as late:
            tool = self._tools.get((request.params or {}).get("name", ""))
            if request.method == "tools/call" and tool is not None and tool.in_a_thread:
                late.evidence = RUNS_ON
            raise

    def lose(self, reason: PeerError) -> None:
        super().lose(reason)
        for request_id in list(self._running):
            self._stop(request_id)

    def revoke(self, reason: PeerError) -> bool:
        goes_on = super().revoke(reason)
        for request_id in list(self._running):
            pending = self._pending.get(request_id)
            if pending is None or pending.future.done():
                self._stop(request_id)
        return goes_on

    async def close(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        left = self._ending | self._threads
        if left:
            await asyncio.wait(left, timeout=grace)

    def evidence(self) -> str:
        return ""

    def _write(self, data: bytes) -> None:
        for line in data.splitlines():
            asked = msgspec.json.decode(line, type=_Asked)
            if asked.method == "tools/call":
                self._call(asked.id, msgspec.json.decode(asked.params, type=_Call))
            elif asked.method == "notifications/cancelled":
                self._stop(msgspec.json.decode(asked.params)["requestId"])
            elif asked.id is not None:
                answer = self._answer_of(asked)
                unknown = write_error(asked.id, METHOD_NOT_FOUND, f"functions know no {asked.method}")
                self._reply_soon(write_result(asked.id, answer) if answer is not None else unknown)

    def _reply_soon(self, data: bytes) -> None:
        """Not in this step: what is asked counts as sent only after it."""
        self._loop.call_soon(self.take, (data,))

    def _answer_of(self, asked: _Asked) -> JsonObject | None:
        offered: JsonObject = {"capabilities": {"tools": {}}}
        match asked.method:
            case "server/discover":
                return {"supportedVersions": NEW_VERSIONS, **offered}
            case "initialize":
                version = msgspec.json.decode(asked.params)["protocolVersion"]
                return {"protocolVersion": version, "serverInfo": {"name": "native", "version": ""}, **offered}
            case "tools/list":
                return {"tools": [tool.definition for tool in self._tools.values()]}
            case "ping":
                return {}
            case _:
                return None

    def _call(self, request_id: int | None, call: _Call) -> None:
        tool = self._tools.get(call.name)
        if tool is None:
            self._reply_soon(write_error(request_id, INVALID_PARAMS, f"no function is called {call.name}"))
            return
        context = copy_context()
        # Told as to its own code: by the context, and never by what a model could fill in.
        context.run(WHO.set, self._principal)
        work = tool.work(call.arguments, self._principal, self._reporter(call), self._begun)
        self._running[request_id] = task = self._loop.create_task(work, context=context)
        task.add_done_callback(partial(self._done, tool, request_id))

    def _done(self, tool: NativeTool, request_id: int | None, task: "asyncio.Task[JsonObject]") -> None:
        self._ending.discard(task)
        if self._running.get(request_id) is not task:
            # Nobody waits for it any more; what it raised when it was told to end is no news.
            _ = task.cancelled() or task.exception()
            return
        del self._running[request_id]
        data, pending = write_result(request_id, tool.reply(task)), self._pending.get(request_id)
        if len(data) > self._max_message and pending is not None:
            pending.fail(too_long(self._max_message))
        else:
            self.take((data,))

    def _stop(self, request_id: int | None) -> None:
        task = self._running.pop(request_id, None)
        if task is not None:
            self._ending.add(task)
            task.cancel()

    def _begun(self, thread: asyncio.Future[Any]) -> None:
        self._threads.add(thread)
        thread.add_done_callback(self._ended)

    def _ended(self, thread: asyncio.Future[Any]) -> None:
        self._threads.discard(thread)
        if not thread.cancelled():
            # Told to whoever waits for it. Nobody may.
            thread.exception()

    def _reporter(self, call: _Call) -> Progress:
        token = as_object(call.meta).get("progressToken")
        if token is None:
            return Progress(unheard)
        home = get_ident()

        def tell(progress: float, total: float | None, message: str | None) -> None:
            told = {"progressToken": token, "progress": progress, "total": total, "message": message}
            data = write_notification("notifications/progress", told)
            if get_ident() == home:
                self.take((data,))
                return
            # The loop may have ended: then nobody is there to be told.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.take, (data,))

        return Progress(tell)
