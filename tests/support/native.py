"""Agent sessions with functions of the program as their one server, `own`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from bascule import AgentSession, native_server, tool
from support.runtime import Events, at_work


@tool("write")
async def note(text: str) -> str:
    return f"noted {text}"


def serving(
    *functions: Callable[..., Any], events: Events | None = None, on_ask: Any = None, **settings: Any
) -> AbstractAsyncContextManager[AgentSession]:
    """An agent session whose one server, `own`, is these functions."""
    return at_work(native_server("own", functions, **settings), events=events, on_ask=on_ask)
