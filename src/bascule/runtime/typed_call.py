"""Typed tool call, as the functions written by `bascule stubs` make it."""

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from bascule.catalog.typed.dump import dumped
from bascule.catalog.typed.load import Misfit, loaded
from bascule.core.errors import InvalidArguments, ProtocolViolation
from bascule.core.outcome import FailureKind, Outcome, ToolFailure, ToolResult
from bascule.core.unset import UNSET, Unset
from bascule.runtime.session import AgentSession

T = TypeVar("T")

Given = Mapping[str, Any]
"""Arguments by their names in JSON. Those that are UNSET do not travel."""

More = Given | Unset
"""Arguments that the schema allows and does not name."""


@overload
async def typed_call(session: AgentSession, name: str, given: Given, *, additional: More = UNSET) -> Outcome: ...
@overload
async def typed_call(
    session: AgentSession, name: str, given: Given, result: type[T], *, additional: More = UNSET
) -> T | ToolFailure: ...
@overload
async def typed_call(
    session: AgentSession, name: str, given: Given, result: Any, *, additional: More = UNSET
) -> Any: ...
async def typed_call(
    session: AgentSession, name: str, given: Given, result: Any = UNSET, *, additional: More = UNSET
) -> Any:
    """Call a tool. Its structured result is given back as the type that is named; without one, the outcome."""
    more = additional or {}
    twice = sorted(given.keys() & more.keys())
    if twice:
        raise InvalidArguments(f"`additional` holds what has an argument of its own: {', '.join(twice)}")
    arguments = {key: dumped(value) for key, value in (*given.items(), *more.items()) if value is not UNSET}
    outcome = await session.call(name, arguments)
    if isinstance(outcome, ToolFailure) or result is UNSET:
        return outcome
    try:
        return loaded(result, outcome.structured)
    except Misfit:
        return _outdated(name, outcome)


def _outdated(name: str, outcome: ToolResult) -> ToolFailure:
    """The tool promises something else by now. What came is kept: the call was made."""
    return ToolFailure(
        kind=FailureKind.PROTOCOL_ERROR,
        code=ProtocolViolation.code,
        message=f"the result of {name} is not what the tool promised when the types were written",
        server=outcome.server,
        tool=outcome.tool,
        lane=outcome.lane,
        steps=outcome.steps,
        cause=outcome.structured,
        fix="write them anew with `bascule stubs`",
    )
