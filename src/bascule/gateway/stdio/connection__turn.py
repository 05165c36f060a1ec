"""One request on a connection that carries many, and its client as far as that request goes."""

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from bascule.core.json_types import JsonObject, as_object
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.wire.request_meta import CAPABILITIES_KEY


class Line(Protocol):
    """The connection, as far as a request needs it."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What a client of the old era said that it can be asked."""
        ...

    def tell(self, method: str, params: JsonObject) -> Awaitable[None]: ...

    def ask(self, method: str, params: JsonObject) -> Awaitable[Any]: ...

    def send_away(self, server: str, theirs: str) -> str: ...

    def put_aside(self, turn: "Turn", result: JsonObject) -> Awaitable[None]: ...

    def take_back(self, turn: "Turn") -> None: ...


class Turn:
    """One of them, from the moment it is begun."""

    streams = True

    def __init__(self, line: Line, key: Any, asked: Asked) -> None:
        self._line = line
        self.key = key
        """Under which the connection finds it."""
        self.asked = asked
        self.answered = False
        self.level = ""
        """From which level on its client hears what servers remark in its course."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Each request of the new era says it; the old one said it when it introduced itself."""
        return as_object(self.asked.meta.get(CAPABILITIES_KEY)) if self.asked.new else self._line.capabilities

    async def tell(self, method: str, params: JsonObject) -> None:
        await self._line.tell(method, params)

    async def ask(self, method: str, params: JsonObject) -> Any:
        if self.asked.new:
            raise NotAnswered("clients of the new era are asked by answers to their requests")
        return await self._line.ask(method, params)

    def send_away(self, server: str, theirs: str) -> str:
        return self._line.send_away(server, theirs)

    async def let_go(self, result: JsonObject) -> None:
        self.answered = True
        await self._line.put_aside(self, result)

    def give_up(self) -> None:
        self._line.take_back(self)
