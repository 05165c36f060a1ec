"""Who asked, as far as something can be said to them before the answer."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from bascule.core.jsonvalue import JsonObject

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class Client(Protocol):
    """The other end of one request, over whatever connection it came."""

    @property
    def streams(self) -> bool:
        """Whether it takes anything but the answer."""
        ...

    @property
    def level(self) -> str:
        """From which level on it hears what servers remark in the course of the request. Empty: not at all."""
        ...

    async def tell(self, method: str, params: JsonObject) -> None:
        """A notification that belongs to this request. Waits for a client that reads slowly."""
        ...


def progress_to(client: Client, token: str | int) -> Progress:
    """Tells a client how far its request is; what comes while it still reads is told as one, the newest."""

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        params: JsonObject = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await client.tell("notifications/progress", params)

    return tell
