"""Dashboards on a gateway, in front of functions of this program that stand for an office's servers."""

import asyncio
import re
import socket
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from bascule import Runtime, native_server, tool
from bascule.cli.serve.dashboard import Address, mount
from bascule.config import RuntimeConfig, ServerConfig
from bascule.config.model.gateway import GatewaySettings
from bascule.core.events import ToolInvoked
from bascule.core.outcome import ToolResult
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.dashboard.auth.login import FORM
from bascule.gateway.app import Gateway
from bascule.gateway.serve import Door, gateway_of, serve
from bascule.records.feed.feed import Feed
from bascule.runtime.session import AgentSession

ALICE = Principal("alice", "s-1")


@dataclass(frozen=True)
class ShownOffice:
    """A gateway with its dashboard, while it runs."""

    runtime: Runtime
    feed: Feed
    app: Gateway
    address: Address
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def session(self, user: str = "alice", session: str = "s-1") -> AgentSession:
        return self.runtime.session(user, session)


@asynccontextmanager
async def shown(*servers: ServerConfig, port: int = 0, **config: Any) -> AsyncGenerator[ShownOffice]:
    """A dashboard in front of these servers."""
    asked = RuntimeConfig(servers={server.name: server for server in servers}, **config)
    async with shown_config(asked, port) as found:
        yield found


@asynccontextmanager
async def shown_config(asked: RuntimeConfig, port: int = 0) -> AsyncGenerator[ShownOffice]:
    """Everybody on this machine is Alice to the gateway. The dashboard knows of no one but who has its token."""
    feed = Feed(time.time)
    with _listening(port) as listening:
        at = listening.getsockname()[1]
        door = Door(GatewaySettings(port=at), None, ALICE)
        async with Runtime(asked, sinks=[feed.note], for_clients=True) as runtime:
            app = gateway_of(runtime, door)
            address = mount(app, (runtime, feed), door)
            stop: asyncio.Future[Callable[[], None]] = asyncio.get_running_loop().create_future()
            server = asyncio.ensure_future(serve(app, listening, stop.set_result))
            try:
                yield ShownOffice(runtime, feed, app, address, at)
            finally:
                (await stop)()
                await server


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(64)
    return listening


def office() -> tuple[ServerConfig, ...]:
    """Servers with a tool of every kind: one that reads, writes, reaches out, fails, raises a level, or asks first."""

    @tool("read")
    async def search(words: str) -> str:
        """Find notes that hold these words."""
        await asyncio.sleep(0.004)
        return f"nothing about {words}"

    @tool("write")
    async def add(text: str) -> str:
        """Write a note."""
        await asyncio.sleep(0.002)
        return f"noted: {text}"

    @tool("read")
    async def customer(name: str) -> str:
        """Everything that is known of a customer."""
        await asyncio.sleep(0.03)
        return f"{name}, 12 Harbour Road"

    @tool("read")
    async def salaries() -> str:
        """What everybody earns."""
        return "not much"

    @tool("connect", "read")
    async def fetch(url: str) -> str:
        """Load a page of the web."""
        await asyncio.sleep(0.08)
        if "broken" in url:
            raise ValueError("the host does not answer")
        return "<html>"

    @tool("connect", "write")
    async def send(to: str, text: str) -> str:
        """Send a letter."""
        return f"sent {len(text)} to {to}"

    return (
        native_server("notes", [search, add]),
        native_server("crm", [customer, salaries], raises={"customer": "confidential", "salaries": "secret"}),
        native_server("web", [fetch]),
        native_server("mail", [send], ask=("send",)),
    )


def many_calls(feed: Feed, number: int, names: Sequence[str] = ("notes_search", "web_fetch", "crm_customer")) -> None:
    """As many calls as a busy day has, told to the feed as a runtime tells them."""
    now = time.time()
    for each in range(number):
        name = names[each % len(names)]
        server = name.partition("_")[0]
        steps = {"resolve": 1e-5, "validate": 2e-5, "decide": 4e-5, "lease": 1e-5, "send": 0.002 + each % 7 / 100}
        outcome = ToolResult(
            raw={"content": []}, server=server, tool=name.partition("_")[2], lane=Lane.OPEN, steps=steps
        )
        feed.note(
            ToolInvoked(
                tool=name,
                server=server,
                principal=Principal("alice", f"s-{each % 5}"),
                lane=Lane.OPEN,
                outcome=outcome,
                arguments={"words": "string[5]"},
                steps=steps,
                at=now - (number - each) / 10,
                seconds=sum(steps.values()),
            )
        )


async def a_day(shown: ShownOffice) -> None:
    """Traffic of every kind, as agents make it."""
    alice, bob, carol = (shown.session(user, "s-1") for user in ("alice", "bob", "carol"))
    for words in ("harbour", "invoice", "q3 plan"):
        await alice.call("notes_search", {"words": words})
        await bob.call("notes_search", {"words": words})
    await alice.call("notes_add", {"text": "call the harbour office"})
    await alice.call("web_fetch", {"url": "https://example.org"})
    await bob.call("web_fetch", {"url": "https://broken.example"})
    await bob.call("notes_serch", {"words": "oops"})
    await bob.call("notes_search", {})
    await alice.call("crm_customer", {"name": "Mr. Grey"})
    await alice.call("web_fetch", {"url": "https://example.org/?q=12+Harbour+Road"})
    await alice.call("notes_add", {"text": "Mr. Grey has moved"})
    await carol.call("crm_salaries", {})
    await carol.call("web_fetch", {"url": "https://example.org"})
    await carol.call("notes_search", {"words": "raise"})


class Replied(NamedTuple):
    """An answer of an app, whole."""

    status: int
    headers: dict[str, str]
    text: str


async def asked(
    app: Any,
    method: str,
    target: str,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    client: str = "127.0.0.1",
) -> Replied:
    """Ask an ASGI app as a browser on this machine does."""
    path, _, query = target.partition("?")
    said = {"host": "127.0.0.1:8470", **(headers or {})}
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(path),
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in said.items()],
        "scheme": "http",
        "client": (client, 5000),
        "server": ("127.0.0.1", 8470),
    }
    told: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        told.append(event)

    await app(scope, receive, send)
    found = {name.decode(): value.decode("latin-1") for name, value in told[0]["headers"]}
    return Replied(told[0]["status"], found, b"".join(each.get("body", b"") for each in told[1:]).decode())


class Browser:
    """Somebody who has shown the token, and sends forms as the pages do."""

    def __init__(self, app: Any, cookie: str) -> None:
        self._app = app
        self._cookie = cookie

    async def get(self, target: str, **headers: str) -> Replied:
        return await asked(self._app, "GET", target, {"cookie": self._cookie, **headers})

    async def post(self, target: str, form: dict[str, str], **headers: str) -> Replied:
        said = {"cookie": self._cookie, "origin": "http://127.0.0.1:8470", "content-type": FORM, **headers}
        return await asked(self._app, "POST", target, said, urlencode(form).encode())

    async def mark(self, target: str) -> str:
        found = re.search('name="mark" value="([0-9a-f]+)"', (await self.get(target)).text)
        assert found is not None
        return found[1]


async def entered(app: Any, token: str) -> Browser:
    answer = await asked(app, "GET", f"/dashboard?token={token}")
    assert answer.status == 303, answer
    return Browser(app, answer.headers["set-cookie"].partition(";")[0])
