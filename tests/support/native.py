"""Agent sessions with functions of the program: as their one server, `own`, or around a tool."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bascule import AgentSession, Outcome, Runtime, Wrapped, native_server, tool
from bascule.config import RuntimeConfig, ServerConfig
from support.runtime import Events, at_work
from support.waiting import fail_after


@tool("write")
async def note(text: str) -> str:
    return f"noted {text}"


def serving(
    *functions: Callable[..., Any], events: Events | None = None, on_ask: Any = None, **settings: Any
) -> AbstractAsyncContextManager[AgentSession]:
    """An agent session whose one server, `own`, is these functions."""
    return at_work(native_server("own", functions, **settings), events=events, on_ask=on_ask)


@asynccontextmanager
async def wrapping(
    server: ServerConfig,
    wrapper: Any,
    name: str | tuple[str, str] = "work_act",
    events: Events | None = None,
    **how: Any,
) -> AsyncGenerator[AgentSession]:
    """An agent session whose one server has a wrapper around one of its tools."""
    runtime = Runtime(RuntimeConfig({server.name: server}), sinks=[events.append] if events is not None else [], **how)
    runtime.wrap(name, wrapper)
    async with fail_after(20, "the life of a runtime"), runtime:
        yield runtime.session("alice", "s-1")


async def passing(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
    return await call(arguments)
