"""Base class of connectors: static methods that work in the request's workspace, and keep no state."""

from typing import Any, NoReturn

from bascule.core.errors import UsageError
from bascule.workspace.host_paths import current_workspace
from bascule.workspace.workspace import Workspace


class Connector:
    """Reads or writes one kind of data. There are no instances: what one request leaves behind in an object, another
    user's request would find there.

    All methods wait for what they do, and may be called from any thread; a tool that is asynchronous calls them by
    `asyncio.to_thread`, which takes along whose request it is.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in vars(cls).items():
            if not name.startswith("_"):
                _check(cls, name, member)

    def __new__(cls, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"a connector has no instances: call {cls.__name__}.… itself")

    @staticmethod
    def workspace() -> Workspace:
        """The one of the agent session in the course of whose request this runs. Nobody's is no workspace at all."""
        found = current_workspace()
        if found is None:
            raise UsageError(
                "it is not known whose workspace is meant",
                cause="a connector was called outside of any request",
                fix="call it in the course of a request of a server made by create_mcp_server",
            )
        return found


def _check(cls: type, name: str, member: object) -> None:
    if isinstance(member, staticmethod | type):
        return
    raise TypeError(
        f"{cls.__name__}.{name} is no static method: a connector keeps nothing between two calls. "
        f"Put @staticmethod above it, or name it with an underscore first if it is a constant"
    )
