"""LangChain tool that calls a tool of an agent session, and maps the outcome to content, artifact or exception."""

from typing import Annotated, Any, Literal, NoReturn

import msgspec

from bascule.core.errors import UsageError, missing
from bascule.core.failure_action import Reaction, RunStopped, reaction, told
from bascule.core.json_types import JsonObject
from bascule.core.model_parts import Picture, parts
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.request import OnProgress
from bascule.core.tool import ToolSpec
from bascule.runtime.session import AgentSession

try:
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, ToolException
    from langgraph.config import get_stream_writer
    from langgraph.errors import GraphBubbleUp
    from pydantic import BaseModel, Field, RootModel, SkipValidation
except ModuleNotFoundError as error:
    if error.name in {"langchain_core", "langgraph"}:
        raise missing("LangChain", "langchain", error) from error
    raise

Content = str | list[dict[str, Any]]
"""What a model is shown."""


async def tools(session: AgentSession) -> list[BaseTool]:
    """The tools that an agent is given, as they are now. `live_tools` follows what becomes of them."""
    return [governed(session, spec) for spec in await session.offered()]


def governed(session: AgentSession, spec: ToolSpec) -> "GovernedTool":
    # LangChain's own `args` reads the properties of every schema.
    schema: JsonObject = {"properties": {}, **spec.plain_schema}
    return GovernedTool(session=session, name=spec.name, description=spec.description, args_schema=schema)


class ToolFailed(ToolException):
    """A call has failed, and the run goes on."""

    def __init__(self, failure: ToolFailure) -> None:
        super().__init__(told(failure))
        self.failure = failure


class GraphStopped(RunStopped, GraphBubbleUp):
    """Ends the run, as `RunStopped` does everywhere. LangGraph hands on what bubbles up before it asks anybody whether
    to catch it: otherwise middleware that retries would do so, and at last tell the model instead."""


class Arguments(RootModel[dict[str, Any]]):
    """What any of our tools takes. The session looks at it more closely."""


class GovernedTool(BaseTool):
    """One tool of an agent session. It is called asynchronously, as the session is."""

    session: Annotated[AgentSession, SkipValidation] = Field(exclude=True, repr=False)
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True
    """LangChain's own choice: whether the model is shown what failed, or, if not, that it is raised as `ToolFailed`."""

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:  # noqa: ARG002 -- LangChain's own words
        """The same for each: a model of its own for every tool, in which LangGraph only looks for arguments to inject,
        takes it two seconds for a thousand of them."""
        return Arguments

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        # As one value: by keyword, an argument called `config` or `run_manager` would be replaced by LangChain's own.
        return (self._parse_input(tool_input, tool_call_id), tool_call_id), {}

    async def _arun(self, arguments: JsonObject, tool_call_id: str | None) -> tuple[Any, Any]:
        outcome = await self.session.call(self.name, arguments, on_progress=_progress_of(self.name, tool_call_id))
        if isinstance(outcome, ToolResult):
            return content_of(outcome), artifact_of(outcome)
        if reaction(outcome) is Reaction.STOP:
            _stop(outcome)
        if self.handle_tool_error is not True or tool_call_id is None:
            # Somebody has another wish, or there is no message to put it into: LangChain knows what to do.
            raise ToolFailed(outcome)
        artifact = artifact_of(outcome)
        shown = ToolMessage(told(outcome), name=self.name, tool_call_id=tool_call_id, artifact=artifact, status="error")
        return shown, None

    def _run(self, *_: Any) -> NoReturn:
        raise UsageError(f"{self.name} can only be called asynchronously: use `ainvoke` or `astream`")


def _stop(failure: ToolFailure) -> NoReturn:
    raise GraphStopped(failure.message, failure=failure, where=failure.tool, evidence=failure.evidence, fix=failure.fix)


def _progress_of(name: str, tool_call_id: str | None) -> OnProgress | None:
    """Where progress goes: into the graph's stream of custom data, if this is in a graph."""
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):
        return None

    def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told = {"progress": progress, "total": total, "message": message}
        write({"type": "tool_progress", "tool": name, "tool_call_id": tool_call_id, **told})

    return on_progress


def content_of(result: ToolResult) -> Content:
    """The rendered text, or blocks where there are pictures to show."""
    shown = parts(result)
    return shown[0] if len(shown) == 1 and isinstance(shown[0], str) else [_block(part) for part in shown]


def _block(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "base64": part.data, "mime_type": part.mime_type}


def artifact_of(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain data: one of a class that LangGraph does not know ends a run which has a checkpointer."""
    told = _result(outcome) if isinstance(outcome, ToolResult) else _failure(outcome)
    try:
        msgspec.msgpack.encode(told)
    except OverflowError:
        # So does a whole number of more than 64 bits, and nothing keeps a server from sending one.
        return {key: value for key, value in told.items() if key not in {"content", "structured", "cause"}}
    return told


def _result(result: ToolResult) -> dict[str, Any]:
    return {
        "server": result.server,
        "tool": result.tool,
        "lane": result.lane.value,
        "structured": result.structured,
        "content": result.raw.get("content"),
    }


def _failure(failure: ToolFailure) -> dict[str, Any]:
    return {
        "server": failure.server,
        "tool": failure.tool,
        "lane": failure.lane.value,
        "kind": failure.kind.value,
        "code": failure.code,
        "retriable": failure.retriable,
        "cause": failure.cause,
        "evidence": failure.evidence,
        "fix": failure.fix,
    }
