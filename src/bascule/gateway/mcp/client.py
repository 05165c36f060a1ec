"""Interface to the MCP client of a request in flight: notifications, progress and server requests before the result."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from bascule.core.json_types import JsonObject

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class Listener(Protocol):
    """The other end of one request, as far as it is told how that goes."""

    @property
    def streams(self) -> bool:
        """Whether it takes anything but the answer."""
        ...

    async def tell(self, method: str, params: JsonObject) -> None:
        """A notification that belongs to this request. Waits for a client that reads slowly."""
        ...


class Hearer(Listener, Protocol):
    """The same, as far as it hears what servers remark."""

    @property
    def level(self) -> str:
        """From which level on, in the course of the request. Empty: not at all."""
        ...


class Client(Hearer, Protocol):
    """The other end of one request, over whatever connection it came."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What it says that it can be asked, in the protocol's words. Empty for one that cannot be reached."""
        ...

    async def ask(self, method: str, params: JsonObject) -> Any:
        """A request of ours to it that belongs to this request, and its answer: in the old era alone. Raises
        `NotAnswered`."""
        ...

    def send_away(self, server: str, theirs: str) -> str:
        """A server sends its person to an address. Gives the id under which it will hear of it, in the old era alone:
        `theirs` is the server's own."""
        ...

    async def let_go(self, result: JsonObject) -> None:
        """Answer its request although that is still served. What comes of it is fetched by another one."""
        ...

    def give_up(self) -> None:
        """Nobody will fetch it: end what is served."""
        ...


def progress_to(client: Listener, token: str | int) -> Progress:
    """Tells a client how far its request is; what comes while it still reads is told as one, the newest."""

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        params: JsonObject = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await client.tell("notifications/progress", params)

    return tell
