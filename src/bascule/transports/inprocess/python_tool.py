"""Python function as a tool: name, description, permissions and schema, and its call."""

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec

from bascule.core.errors import NotIdentified, UsageError
from bascule.core.json_types import JsonObject
from bascule.core.permission import Permission
from bascule.core.principal import Principal
from bascule.kit.permission import marked_permissions
from bascule.transports.inprocess.python_result import failure_reply, is_meant, reply_of, unfitting
from bascule.transports.inprocess.python_signature import Signature
from bascule.transports.inprocess.python_types import Progress
from bascule.transports.inprocess.worker_thread import in_a_thread

_log = logging.getLogger("bascule.native")

_MARK = "__bascule_tool__"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class _Said:
    """What a program says of a function of its."""

    permissions: frozenset[Permission] | None = None
    name: str | None = None
    description: str | None = None


def tool(
    *permissions: Permission | str, name: str | None = None, description: str | None = None
) -> Callable[[Function], Function]:
    """Say of a function what it may do (`read`, `write`, `connect`, or several of these) and, where they are not to be
    its own, its name and its description. It stays the function that it is. One of which it is not said may do
    everything."""
    unknown = [each for each in permissions if not isinstance(each, str) or each not in set(Permission)]  # pyright: ignore[reportUnnecessaryIsInstance]
    if unknown:
        raise UsageError(
            f"tool() was given {unknown[0]!r:.80} as something that a tool may do",
            fix='write @tool("read"), or "write", or "connect", or several of them, with the brackets',
        )
    said = _Said(frozenset(map(Permission, permissions)) or None, name, description)

    def mark(function: Function) -> Function:
        try:
            setattr(function, _MARK, said)
        except AttributeError as error:
            raise UsageError(
                f"{function!r:.80} cannot be marked as a tool", fix="wrap it in a function of your own"
            ) from error
        return function

    return mark


@dataclass(frozen=True, slots=True, eq=False)
class NativeTool:
    """One function, ready to be listed and called."""

    name: str
    function: Callable[..., Any]
    definition: JsonObject
    permissions: frozenset[Permission] | None
    """None where nobody has said what it may do."""
    signature: Signature
    in_a_thread: bool
    """Whether it would stop the loop while it runs."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "NativeTool":
        """Raises `UsageError` where it cannot be a tool."""
        if not callable(function):
            raise UsageError(f"{function!r:.80} is no function", fix="give functions, sync or async")
        said: _Said = getattr(function, _MARK, _Said())
        name = said.name or getattr(function, "__name__", "")
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name or repr(function)!r:.80} cannot be the name of a tool", fix='give it one: @tool(name="…")'
            )
        signature = Signature.of(function, name)
        definition: JsonObject = {
            "name": name,
            "description": _description(function) if said.description is None else said.description,
            "inputSchema": signature.schema,
        }
        if signature.output is not None:
            definition["outputSchema"] = signature.output
        permissions = said.permissions or marked_permissions(function)
        return cls(name, function, definition, permissions, signature, not _is_async(function))

    async def work(
        self,
        arguments: msgspec.Raw,
        principal: Principal | None,
        progress: Progress,
        begun: Callable[[asyncio.Future[Any]], None],
    ) -> JsonObject:
        """Its reply where it goes well. `begun` is told what runs in a thread, which nothing can end."""
        try:
            given = self.signature.read(arguments)
        except msgspec.ValidationError as error:
            return unfitting(error)
        for name, kind in self.signature.own.items():
            given[name] = progress if kind is Progress else _known(principal, self.name)
        positional = [given.pop(name) for name in self.signature.positional if name in given]
        called = partial(self.function, *positional, **given)
        if self.in_a_thread:
            thread = in_a_thread(partial(_kept_from_leaving, called), f"bascule-native-{self.name}")
            begun(thread)
            # Who stops waiting does not end it, and the link's end is told only after its own.
            value = await asyncio.shield(thread)
        else:
            value = called()
        return reply_of(await _awaited(value) if inspect.isawaitable(value) else value)

    def reply(self, done: "asyncio.Task[JsonObject]") -> JsonObject:
        """What came of it, whatever that is."""
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is None:
            return done.result()
        if not is_meant(error):
            _log.error("the native tool %s raised", self.name, exc_info=error)
        return failure_reply(self.name, error)


def native_tools(functions: Iterable[Callable[..., Any]]) -> tuple[NativeTool, ...]:
    """These functions as tools. Raises `UsageError` where one cannot be, or two have one name."""
    tools = tuple(map(NativeTool.of, functions))
    names = [each.name for each in tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two functions are called {twice[0]}", fix='give one another name: @tool(name="…")')
    return tools


LEAVING = "it wanted to end the program"
"""A library that means to end the program of a command line must not end that of an agent."""


def _kept_from_leaving(called: Callable[[], Any]) -> Any:
    try:
        return called()
    except SystemExit as leaving:
        raise RuntimeError(LEAVING) from leaving


async def _awaited(value: Awaitable[Any]) -> Any:
    try:
        return await value
    except SystemExit as leaving:
        raise RuntimeError(LEAVING) from leaving


def _known(principal: Principal | None, name: str) -> Principal:
    if principal is None:
        raise NotIdentified(
            f"it is not known on whose behalf {name} is called",
            rule="identified",
            fix="do not share the links of a native server whose functions want to know",
        )
    return principal


def _description(function: Callable[..., Any]) -> str:
    # An instance has the docstring of its class, which is about something else.
    return (inspect.getdoc(function) or "") if inspect.isroutine(function) else ""


def _is_async(function: Callable[..., Any]) -> bool:
    called = getattr(function, "func", function)
    return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(called, "__call__", None))  # noqa: B004 -- a method, not whether there is one
