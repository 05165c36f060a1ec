"""A client of the old era is told of lists, and of the resources it asked about, for as long as it is there."""

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged

from bascule.kit.events.changes import ALL_LISTS, Changes
from bascule.kit.events.watcher import Watcher
from support.waiting import fail_after

TOOLS = "notifications/tools/list_changed"


class Line:
    """The way to a client, which takes nothing while it is blocked."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.free = asyncio.Event()
        self.free.set()

    async def send_raw_request(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> dict[str, Any]:
        raise AssertionError(f"{method} is asked of nobody")

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: Any = None) -> None:
        self.sent.append((method, dict(params or {}).get("uri")))
        await self.free.wait()

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.sent]


def session_of(connection: Connection) -> ServerSession:
    # Made for each request, and asked for nothing but what is behind it.
    return ServerSession(None, connection)  # pyright: ignore[reportArgumentType]


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_requests_of_a_connection_have_one_watcher():
    changes, one, other = Changes(), Connection.for_loop(Line()), Connection.for_loop(Line())
    watcher = Watcher.of(session_of(one), changes)
    assert Watcher.of(session_of(one), changes) is watcher
    assert Watcher.of(session_of(other), changes) is not watcher


async def test_every_list_is_told_of_and_only_resources_that_were_asked_about():
    changes, line = Changes(), Line()
    watcher = Watcher.of(session_of(Connection.for_loop(line)), changes)
    watcher.uris.add("a:1")
    changes.tell(*ALL_LISTS, ResourceUpdated("a:1"), ResourceUpdated("a:2"))
    await turns()
    assert line.sent == [
        (TOOLS, None),
        ("notifications/prompts/list_changed", None),
        ("notifications/resources/list_changed", None),
        ("notifications/resources/updated", "a:1"),
    ]
    watcher.uris.clear()
    changes.tell(ResourceUpdated("a:1"))
    await turns()
    assert len(line.sent) == 4


async def test_a_client_that_reads_slowly_has_one_message_on_its_way_and_gets_one_more():
    changes, line = Changes(), Line()
    Watcher.of(session_of(Connection.for_loop(line)), changes)
    line.free.clear()
    for _ in range(100):
        changes.tell(ToolsListChanged())
        await turns()
    assert line.methods == [TOOLS]
    changes.tell(PromptsListChanged())
    await turns()
    assert line.methods == [TOOLS, "notifications/prompts/list_changed"]
    line.free.set()
    await turns()
    assert line.methods == [TOOLS, "notifications/prompts/list_changed", TOOLS]


async def test_who_has_gone_is_told_nothing_and_what_was_on_its_way_is_given_up():
    changes, line = Changes(), Line()
    connection = Connection.for_loop(line)
    Watcher.of(session_of(connection), changes)
    line.free.clear()
    before = asyncio.all_tasks()
    changes.tell(ToolsListChanged())
    await turns()
    changes.tell(ToolsListChanged())
    await turns()
    sending = asyncio.all_tasks() - before
    assert len(sending) == 1
    await connection.exit_stack.aclose()
    async with fail_after(10, "the message being given up"):
        await asyncio.wait(sending)
    changes.tell(ResourcesListChanged())
    await turns()
    assert line.methods == [TOOLS]
    assert asyncio.all_tasks() == before
