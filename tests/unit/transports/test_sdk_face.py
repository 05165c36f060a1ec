import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    ListRootsResult,
    TextContent,
)

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, PeerRefused, ProtocolViolation, ReplyTimeout
from bascule.sandbox.child import Command
from bascule.transports import sdk_face
from bascule.transports.sdk_face import SdkFace, as_mcp_error
from bascule.transports.stdio import StdioDispatcher
from support.servers import methods, opened, received, stdio
from support.streams import Loopback

TIME_SERVER = Path(sys.executable).with_name("mcp-server-time")


@asynccontextmanager
async def talking(dispatcher: StdioDispatcher, **callbacks: Any) -> AsyncGenerator[ClientSession]:
    async with opened(dispatcher), ClientSession(dispatcher=SdkFace(dispatcher), **callbacks) as session:
        yield session


def text_of(result: Any) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def test_the_sdks_session_initializes_lists_and_calls():
    async with talking(stdio("echo")) as session:
        found = await session.initialize()
        listed = await session.list_tools()
        result = await session.call_tool("echo", {"message": "hello"})

    assert found.server_info.name == "echo"
    assert [tool.name for tool in listed.tools] == ["echo"]
    assert text_of(result) == "hello"


async def test_the_sdks_session_speaks_the_new_era():
    async with talking(stdio("new")) as session:
        await session.discover()
        result = await session.call_tool("echo", {"message": "hello"})

    assert text_of(result) == "hello"


async def test_a_published_server_is_understood():
    server = StdioDispatcher(Command([str(TIME_SERVER)], dict(os.environ)), max_message=1_000_000)
    async with talking(server) as session:
        await session.initialize()
        listed = await session.list_tools()
        result = await session.call_tool("get_current_time", {"timezone": "Etc/UTC"})

    assert "get_current_time" in [tool.name for tool in listed.tools]
    assert not result.is_error


async def asked_back(arguments: dict[str, Any], **callbacks: Any) -> dict[str, Any]:
    """What a server gets that asks its client back."""
    async with talking(stdio("asking"), **callbacks) as session:
        await session.initialize()
        result = await session.call_tool("ask", arguments)
    return result.structured_content or {}


async def test_a_question_of_the_server_is_answered_by_the_sdks_callback():
    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[])

    answer = await asked_back({"ask": "roots/list"}, list_roots_callback=roots)

    assert answer == {"jsonrpc": "2.0", "id": "question", "result": {"roots": []}}


async def test_a_question_the_sdk_declines_is_an_error_to_the_server():
    answer = await asked_back({"ask": "roots/list"})

    assert answer["error"] == {"code": INVALID_REQUEST, "message": "List roots not supported"}


async def test_a_question_the_sdk_does_not_know_is_an_error_to_the_server():
    assert (await asked_back({"ask": "roots/burn"}))["error"]["code"] == METHOD_NOT_FOUND


async def test_a_malformed_question_is_an_error_to_the_server():
    answer = await asked_back({"ask": "sampling/createMessage", "params": {"messages": "none"}})

    assert answer["error"] == {"code": INVALID_PARAMS, "message": "invalid request parameters"}


async def test_notifications_reach_the_sdks_callback_and_who_listened_before(tmp_path: Path):
    heard: list[str] = []
    told = asyncio.Event()

    async def log(params: Any) -> None:
        heard.append(params.data)
        told.set()

    server = stdio("puppet", tmp_path / "log")
    server.on_notice = lambda method, _: heard.append(method)
    note = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hm"}}'
    async with talking(server, logging_callback=log):
        await SdkFace(server).send_raw_request("do", {"say": [note, '{"jsonrpc":"2.0","id":$ID,"result":{}}']})
        await told.wait()

    assert heard == ["notifications/message", "hm"]


async def test_notifications_nobody_takes_in_time_are_counted_and_not_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sdk_face, "NOTICES_WAITING", 3)
    stream = Loopback()
    face = SdkFace(stream)

    async def never(*_: Any) -> Any:
        await asyncio.Event().wait()

    running = asyncio.create_task(face.run(never, never))
    await asyncio.sleep(0)
    stream.say(*[{"jsonrpc": "2.0", "method": "notifications/message"}] * 10)
    running.cancel()

    assert face._notices.qsize() == 3
    assert stream.counters.notices_dropped == 7


async def test_running_ends_with_the_link():
    stream = Loopback()

    async def nothing(*_: Any) -> Any: ...

    running = asyncio.create_task(SdkFace(stream).run(nothing, nothing))
    await asyncio.sleep(0)
    stream.lose(ConnectionLost("gone"))

    await asyncio.wait_for(running, 5)


async def test_the_sdks_options_are_kept(tmp_path: Path):
    log = tmp_path / "log"
    async with opened(stdio("puppet", log)) as server:
        face = SdkFace(server)
        with pytest.raises(MCPError):
            await face.send_raw_request("initialize", {"say": []}, {"timeout": 0.05, "cancel_on_abandon": False})
        await face.send_raw_request("do", None, {"request_id": "listen-1"})
        await face.notify("notifications/initialized", None)
        await face.send_raw_request("do", {})

    assert methods(log) == ["initialize", "do", "notifications/initialized", "do"]
    assert received(log)[1] == {"jsonrpc": "2.0", "id": "listen-1", "method": "do"}


async def test_progress_reaches_the_sdks_callback(tmp_path: Path):
    told: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    line = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$ID,"progress":1,"total":2}}'
    async with opened(stdio("puppet", tmp_path / "log")) as server:
        say = [line, '{"jsonrpc":"2.0","id":$ID,"result":{}}']
        await SdkFace(server).send_raw_request("do", {"say": say}, {"on_progress": note})

    assert told == [(1, 2, None)]


@pytest.mark.parametrize(
    ("ours", "code"),
    [
        (PeerRefused("no", rpc_code=-7, data={"why": 1}), -7),
        (ReplyTimeout("late", phase="call", timeout=1), REQUEST_TIMEOUT),
        (ConnectionLost("gone"), CONNECTION_CLOSED),
        (ConnectFailed("never there"), INTERNAL_ERROR),
        (ProtocolViolation("odd"), INTERNAL_ERROR),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_error_of_ours_has_its_code(ours: PeerError, code: int):
    theirs = as_mcp_error(ours)

    assert (theirs.code, theirs.message, theirs.data) == (code, ours.message, getattr(ours, "data", None))


async def test_our_error_is_the_cause_of_theirs(tmp_path: Path):
    async with talking(stdio("puppet", tmp_path / "log")) as session:
        face = session._dispatcher
        with pytest.raises(MCPError) as caught:
            await face.send_raw_request("do", {"say": [], "exit": 3, "stderr": "why"})
        with pytest.raises(MCPError) as after:
            await face.notify("notifications/initialized", None)

    assert isinstance(caught.value.__cause__, ConnectionLost)
    assert caught.value.__cause__.evidence == "why"
    assert isinstance(after.value.__cause__, ConnectionLost)


async def test_a_question_carries_no_way_back():
    context = sdk_face._Context("stdio")

    assert not context.can_send_request
    for attempt in (context.send_raw_request("ping", None), context.notify("notifications/x", None)):
        with pytest.raises(NoBackChannelError):
            await attempt
    await context.progress(1.0)
