"""weakincentives tool that calls a tool of an MCP server: typed arguments, a governed call, a framework result."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from weakincentives.errors import DeadlineExceededError
from weakincentives.prompt import Tool, ToolContext
from weakincentives.runtime.session import Session
from weakincentives.serde import parse

from bascule.bridges.weakincentives.dataclasses import Fitted, arguments_of, fitted
from bascule.bridges.weakincentives.errors import McpRunStopped, McpSchemaError, McpToolError
from bascule.bridges.weakincentives.naming import cut_description
from bascule.bridges.weakincentives.results import (
    McpToolInvoked,
    McpToolOutput,
    McpToolResult,
    failed,
    output_of,
    succeeded,
)
from bascule.catalog.schema.validator import validator_of
from bascule.catalog.typed.from_schema import read, read_object
from bascule.catalog.typed.names import class_name
from bascule.catalog.typed.shape import Struct
from bascule.core.failure_action import Reaction, reaction
from bascule.core.outcome import Outcome, ToolFailure
from bascule.core.outcome import ToolResult as Answer
from bascule.core.request import OnProgress
from bascule.core.tool import ToolSpec
from bascule.core.unset import UNSET

Call = Callable[[ToolSpec, dict[str, Any], float | None, OnProgress | None], Outcome]
"""Calls a tool: with arguments, the seconds that are left for it, and whom to tell of progress."""


class Stops:
    """The run that a call has ended, if one has. Should an adapter go on with it, no call gets through."""

    def __init__(self) -> None:
        self._run: object = None
        self._why: McpRunStopped | None = None

    def stop(self, context: ToolContext, why: McpRunStopped) -> None:
        self._run, self._why = context.rendered_prompt, why

    def check(self, context: ToolContext) -> None:
        if self._why is not None and self._run is not None and context.rendered_prompt is self._run:
            raise self._why


class GovernedTool:
    """Carries out the calls of one tool of one section."""

    def __init__(self, spec: ToolSpec, session: Session, call: Call, stops: Stops, mcp: Callable[[str], bool]) -> None:
        self._spec = spec
        self._session = session
        self._call = call
        self._stops = stops
        self._mcp = mcp
        self.result_type = _result_type(spec)

    def __call__(self, params: Fitted | None, *, context: ToolContext) -> McpToolResult:
        self._stops.check(context)
        if context.session is not self._session:
            raise McpToolError(
                "this section is of another session, on whose behalf its calls are made",
                server_name=self._spec.key.server,
                tool_name=self._spec.name,
                fix="give the prompt a section of its own session: section.clone(session=session)",
            )
        arguments = arguments_of(params)
        outcome = self._call(self._spec, arguments, _seconds_left(context), _beating(context))
        if isinstance(outcome, Answer):
            return succeeded(outcome, self._value(outcome), self._server(outcome))
        if reaction(outcome) is Reaction.STOP:
            raise self._stopped(outcome, arguments, context)
        return failed(outcome, self._server(outcome))

    def _server(self, outcome: Outcome) -> str | None:
        """The MCP server that it came from: of a tool that calls others, where those are."""
        name = outcome.server or self._spec.key.server
        return name if self._mcp(name) else None

    def _value(self, answer: Answer) -> object:
        if self.result_type is McpToolOutput or answer.structured is None:
            return output_of(answer)
        try:
            return parse(self.result_type, answer.structured, coerce=False)
        except (TypeError, ValueError):
            # The schema takes it, and the dataclass cannot hold it.
            return output_of(answer)

    def _stopped(self, failure: ToolFailure, arguments: dict[str, Any], context: ToolContext) -> McpRunStopped:
        why = McpRunStopped(failure, self._spec.name)
        self._stops.stop(context, why)
        # The framework tells of calls that come back, and this one does not.
        result = failed(failure, self._server(failure))
        event = McpToolInvoked(
            self._spec.name.lower(), arguments, result, result.source, result.mcp_server, self._session.session_id
        )
        self._session.dispatcher.dispatch(event)
        return why


def bridged(name: str, spec: ToolSpec, governed: GovernedTool, *, accepts_overrides: bool) -> Tool[Any, Any]:
    """A tool of the framework by this name. Raises `McpSchemaError` if its schema cannot be used."""
    made: Any = Tool[_params_type(spec), governed.result_type]
    return made(name=name, description=cut_description(spec), handler=governed, accepts_overrides=accepts_overrides)


def _params_type(spec: ToolSpec) -> type[Fitted]:
    checked = validator_of(dict(spec.plain_schema))
    if isinstance(checked, str):
        raise McpSchemaError(
            f"the input schema of {spec.key} cannot be used",
            server_name=spec.key.server,
            tool_name=spec.key.tool,
            reason=checked,
        )
    shape = read_object(checked.schema, checked.bound, class_name(spec.name)).shape
    assert isinstance(shape, Struct)
    if not shape.members and ("additionalProperties" in checked.schema or "properties" not in checked.schema):
        # It has nothing but members without names, and wants them.
        shape.rest_said = True
    return fitted(shape, UNSET)


def _result_type(spec: ToolSpec) -> Any:
    """A dataclass where the tool promises one."""
    if not spec.output_schema:
        return McpToolOutput
    checked = validator_of(dict(spec.output_schema))
    if isinstance(checked, str):
        return McpToolOutput
    shape = read(checked.schema, checked.bound, class_name(spec.name)).shape
    return fitted(shape, None) if isinstance(shape, Struct) else McpToolOutput


def _beating(context: ToolContext) -> OnProgress | None:
    """A server that reports progress is alive, which is all the framework wants to hear."""
    heartbeat = context.heartbeat
    if heartbeat is None:
        return None

    async def on_progress(*_: object) -> None:
        # Whoever listens to it may take their time, and this is the thread of all calls.
        await asyncio.to_thread(heartbeat.beat)

    return on_progress


def _seconds_left(context: ToolContext) -> float | None:
    """Until the run has to be over."""
    if context.deadline is None:
        return None
    left = context.deadline.remaining()
    if left <= timedelta(0):
        raise DeadlineExceededError("the run's deadline has passed: the call was not made")
    return left.total_seconds()
