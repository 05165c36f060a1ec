"""Clients of either era are told what changes, as far as they could see it themselves."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.subscriptions import Subscription
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ServerEvent, ToolsListChanged

from bascule.config.model.auth import AuthSettings, SharedSecret
from bascule.kit import GovernedServer, create_mcp_server
from bascule.kit.events.listen import MAX_WATCHED
from bascule.kit.server import TellingServer
from support import tokens
from support.http_servers import fastmcp_server
from support.waiting import fail_after, until

NEW = "2026-07-28"
ADDRESS = "https://records.example/mcp"


def nobody(_context: Any) -> bool:
    return False


def furnished(server: TellingServer) -> TellingServer:
    @server.resource("a://open")
    def open_() -> str:
        return "open"

    @server.resource("a://one/{name}")
    def one(name: str) -> str:
        return name

    @server.resource("a://shut", auth=nobody)
    def shut() -> str:
        return "shut"

    return server


def words() -> str:
    """Words."""
    return "words"


class Old:
    """A client of the old era, and what it is told."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.client: Client | None = None

    async def hear(self, message: Any) -> None:
        if isinstance(message, Exception):
            raise message
        self.told.put_nowait(message)

    async def next(self) -> Any:
        async with fail_after(10, "being told"):
            return await self.told.get()

    async def watch(self, uri: str) -> None:
        await self._ask(types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))

    async def unwatch(self, uri: str) -> None:
        await self._ask(types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)))

    async def _ask(self, request: Any) -> None:
        assert self.client is not None
        await self.client.session.send_request(request, types.EmptyResult)


@asynccontextmanager
async def old_client(where: Any) -> AsyncGenerator[Old]:
    old = Old()
    async with Client(where, mode="legacy", message_handler=old.hear) as old.client:
        yield old


async def next_of(stream: Subscription) -> ServerEvent:
    async with fail_after(10, "being told"):
        return await anext(aiter(stream))


async def test_a_new_client_is_told_of_what_it_asked_for_and_of_nothing_else():
    server = furnished(TellingServer("listening"))
    async with Client(server._mcp_server, mode=NEW) as client:
        async with client.listen(tools_list_changed=True, resource_subscriptions=["a://open"]) as stream:
            server.prompt(words)
            server.disable(names={"other"})
            server.resource_updated("a://one/2")
            assert await next_of(stream) == ToolsListChanged()
            server.resource_updated("a://open")
            assert await next_of(stream) == ResourceUpdated("a://open")
        async with client.listen(prompts_list_changed=True) as stream:
            server.enable(names={"other"})
            assert await next_of(stream) == PromptsListChanged()


async def test_a_new_client_is_not_granted_resources_that_it_cannot_see():
    server = furnished(TellingServer("listening"))
    uris = ["a://open", "a://shut", "a://unheard-of", "a://one/2"]
    async with Client(server._mcp_server, mode=NEW) as client, client.listen(resource_subscriptions=uris) as stream:
        assert stream.honored.resource_subscriptions == ["a://open", "a://one/2"]
        server.resource_updated("a://shut")
        server.resource_updated("a://one/2")
        assert await next_of(stream) == ResourceUpdated("a://one/2")


async def test_an_old_client_is_told_of_lists_and_of_the_resources_it_asked_about():
    server = furnished(TellingServer("listening"))
    async with old_client(server._mcp_server) as old:
        await old.watch("a://open")
        server.resource_updated("a://one/2")
        server.resource_updated("a://open")
        told = await old.next()
        assert isinstance(told, types.ResourceUpdatedNotification)
        assert str(told.params.uri) == "a://open"
        await old.unwatch("a://open")
        server.resource_updated("a://open")
        server.disable(names={"other"})
        kinds = [type(await old.next()) for _ in range(3)]
        assert set(kinds) == {
            types.ToolListChangedNotification,
            types.PromptListChangedNotification,
            types.ResourceListChangedNotification,
        }


async def test_an_old_client_that_asked_for_nothing_is_told_of_lists():
    server = TellingServer("listening")
    async with old_client(server._mcp_server) as old:

        def told() -> bool:
            # Nobody tells us when the server has heard that the client is ready.
            server.enable(names={"other"})
            return not old.told.empty()

        await until(told)
        assert isinstance(await old.next(), types.ToolListChangedNotification)


async def test_an_old_client_is_refused_resources_that_it_cannot_see():
    server = furnished(TellingServer("listening"))
    async with old_client(server._mcp_server) as old:
        for uri in ("a://shut", "a://unheard-of"):
            with pytest.raises(MCPError, match="not found") as caught:
                await old.watch(uri)
            assert caught.value.error.code == types.INVALID_PARAMS
            assert caught.value.error.data == {"uri": uri}


@pytest.mark.long
async def test_neither_may_watch_without_end():
    server = furnished(TellingServer("listening"))
    uris = [f"a://one/{number}" for number in range(MAX_WATCHED + 1)]
    async with Client(server._mcp_server, mode=NEW) as client:
        with pytest.raises(MCPError, match="at most"):
            async with client.listen(resource_subscriptions=uris):
                pytest.fail("that many were granted")
    async with old_client(server._mcp_server) as old:
        for uri in uris[:MAX_WATCHED]:
            await old.watch(uri)
        await old.watch(uris[0])
        with pytest.raises(MCPError, match="at most"):
            await old.watch(uris[-1])
        await old.unwatch(uris[0])
        await old.watch(uris[-1])


async def test_each_era_is_told_what_the_server_can_do():
    server = furnished(TellingServer("listening"))
    for mode in ("legacy", "auto"):
        async with Client(server._mcp_server, mode=mode) as client:
            able = client.server_capabilities
            assert able.resources is not None
            assert able.resources.subscribe is True
            assert able.tools is not None
            assert able.tools.list_changed is True


async def test_a_server_that_ends_ends_its_streams_with_an_answer():
    server = furnished(TellingServer("listening"))
    async with Client(server._mcp_server, mode=NEW) as client, client.listen(tools_list_changed=True) as stream:
        server.listening.close()
        async with fail_after(10, "the end of the stream"):
            assert [event async for event in stream] == []


async def test_a_change_made_in_the_thread_of_a_tool_reaches_both_eras_over_http():
    server = create_mcp_server("listening", development="ada")
    furnished(server)
    wanted: dict[str, Any] = {"prompts_list_changed": True, "resource_subscriptions": ["a://open"]}
    async with (
        fastmcp_server(server) as url,
        old_client(url) as old,
        Client(url, mode=NEW) as new,
        new.listen(**wanted) as stream,
    ):
        await asyncio.to_thread(server.prompt, words)
        assert await next_of(stream) == PromptsListChanged()
        await old.watch("a://open")

        def told() -> bool:
            # Nobody tells us when the old client has opened the stream on which it hears.
            server.resource_updated("a://open")
            return old.told.qsize() > 1

        await until(told)
        assert await next_of(stream) == ResourceUpdated("a://open")
        kinds = {type(await old.next()) for _ in range(2)}
        assert types.ResourceUpdatedNotification in kinds


def with_tokens() -> GovernedServer:
    auth = AuthSettings(keys=(SharedSecret("HS256", tokens.SECRET),), issuer=tokens.ISSUER, audience=ADDRESS)
    server = create_mcp_server("listening", auth=auth, url=ADDRESS)
    furnished(server)
    return server


def listening(expires_at: int) -> tuple[dict[str, Any], dict[str, str]]:
    """The body and the headers of a request to be told, by somebody whose token is good until then."""
    who = {
        **tokens.claims(),
        "aud": ADDRESS,
        "iat": int(time.time()) - 1,
        "nbf": int(time.time()) - 1,
        "exp": expires_at,
    }
    meta = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    headers = {
        "Authorization": f"Bearer {tokens.token(who, algorithm='HS256')}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": NEW,
        "Mcp-Method": "subscriptions/listen",
    }
    return {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}, headers


async def test_nobody_is_told_anything_after_their_token_has_expired():
    server = with_tokens()
    body, headers = listening(int(time.time()) + 3)
    async with (
        fastmcp_server(server) as url,
        aiohttp.ClientSession() as http,
        fail_after(30, "the end of the stream"),
        http.post(url, json=body, headers=headers) as response,
    ):
        assert response.status == 200
        # It ends by itself: nobody hangs up.
        frames = [json.loads(line[5:]) async for line in response.content if line.startswith(b"data:")]
    assert frames[0]["method"] == "notifications/subscriptions/acknowledged"
    assert frames[-1]["id"] == 7
    assert frames[-1]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 7
