"""Bridge to the OpenAI Agents SDK: an agent session as an MCP server, `Agent(mcp_servers=[mcp_server(session)])`, or
its tools as function tools."""

from typing import Any

import msgspec

from bascule.core.errors import missing
from bascule.core.failure_action import Reaction, RunStopped, reaction, told
from bascule.core.json_types import JsonObject, is_object
from bascule.core.model_parts import Picture, parts
from bascule.core.outcome import Outcome, PromptResult, ResourceResult, ToolFailure, ToolResult
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolSpec
from bascule.runtime.session import AgentSession

try:
    from agents import (
        AgentBase,
        FunctionTool,
        RunContextWrapper,
        ToolOutputImage,
        ToolOutputText,
        UserError,
        default_tool_error_function,
    )
    from agents.exceptions import ModelBehaviorError
    from agents.mcp import MCPServer
    from agents.mcp.server import RequireApprovalSetting
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    if error.name == "agents":
        raise missing("OpenAI Agents", "openai", error) from error
    raise

import mcp_types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

ERROR = "Error: "
"""Before what a model is shown of a failure: an output of a tool has no other mark of one here."""


def mcp_server(
    session: AgentSession, *, name: str = "bascule", require_approval: RequireApprovalSetting = None
) -> "GovernedServer":
    """All that an agent session offers, as one MCP server. Its tools are listed anew in each turn of a run.

    `require_approval` is the SDK's own: which calls a person is asked about before they are even tried.
    """
    return GovernedServer(session, name, require_approval)


async def tools(session: AgentSession) -> list[FunctionTool]:
    """The tools that an agent is given, as they are now: `Agent(tools=await tools(session))`."""
    return [function_tool(session, spec) for spec in await session.offered()]


class AgentStopped(RunStopped, UserError):
    """Ends the run, as `RunStopped` does everywhere. The SDK wraps what is raised in a tool into errors of its own,
    unless it is one of them."""


class GovernedServer(MCPServer):
    """An agent session as the SDK sees a server. Its links are the runtime's: nothing here opens or closes any."""

    def __init__(self, session: AgentSession, name: str, require_approval: RequireApprovalSetting = None) -> None:
        super().__init__(require_approval=require_approval, failure_error_function=on_error)
        self._session = session
        self._name = name
        self._made: dict[str, tuple[ToolSpec, mcp_types.Tool]] = {}
        """By name, with what it was made of."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def cached_tools(self) -> list[mcp_types.Tool] | None:
        return [tool for _, tool in self._made.values()] or None

    async def connect(self) -> None:
        """Link to the servers ahead of the first run. It is not needed."""
        await self._session.connect()

    async def cleanup(self) -> None:
        pass

    async def list_tools(
        self,
        run_context: RunContextWrapper[Any] | None = None,  # noqa: ARG002 -- the SDK's own words
        agent: AgentBase[Any] | None = None,  # noqa: ARG002
    ) -> list[mcp_types.Tool]:
        self._made = {spec.name: self._tool(spec) for spec in await self._session.offered()}
        return [tool for _, tool in self._made.values()]

    def _tool(self, spec: ToolSpec) -> tuple[ToolSpec, mcp_types.Tool]:
        made = self._made.get(spec.name)
        return made if made and made[0] == spec else (spec, mcp_tool(spec))

    async def call_tool(
        self,
        tool_name: str,
        arguments: dict[str, Any] | None,
        meta: dict[str, Any] | None = None,  # noqa: ARG002 -- what is sent with a call is for the runtime to say
    ) -> mcp_types.CallToolResult:
        outcome = await self._session.call(tool_name, arguments)
        content = [_content(part) for part in shown(outcome)]
        structured = outcome.structured if isinstance(outcome, ToolResult) else None
        return mcp_types.CallToolResult.model_construct(
            content=content, structured_content=structured, is_error=isinstance(outcome, ToolFailure)
        )

    async def list_prompts(self) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=[_prompt(spec) for spec in await self._session.prompts()])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> mcp_types.GetPromptResult:
        return mcp_types.GetPromptResult.model_validate(_raw(await self._session.prompt(name, arguments)))

    async def list_resources(self, cursor: str | None = None) -> mcp_types.ListResourcesResult:  # noqa: ARG002 -- one page
        specs = await self._session.resources()
        return mcp_types.ListResourcesResult(resources=[_resource(spec) for spec in specs if spec.uri])

    async def list_resource_templates(
        self,
        cursor: str | None = None,  # noqa: ARG002 -- one page
    ) -> mcp_types.ListResourceTemplatesResult:
        templates = [_template(spec) for spec in await self._session.resources() if spec.uri_template]
        return mcp_types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(self, uri: str) -> mcp_types.ReadResourceResult:
        return mcp_types.ReadResourceResult.model_validate(_raw(await self._session.read(uri)))


def function_tool(session: AgentSession, spec: ToolSpec) -> FunctionTool:
    async def invoke(_context: ToolContext[Any], given: str) -> str | list[ToolOutputText | ToolOutputImage]:
        arguments = _arguments(given)
        if arguments is None:
            return f"{ERROR}the arguments of {spec.name} are no JSON object"
        told = shown(await session.call(spec.name, arguments))
        return told[0] if len(told) == 1 and isinstance(told[0], str) else [_output(part) for part in told]

    # Strict schemas would make optional arguments required.
    return FunctionTool(spec.name, spec.description, schema_of(spec), invoke, strict_json_schema=False)


def _arguments(given: str) -> JsonObject | None:
    try:
        arguments = msgspec.json.decode(given or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return arguments if is_object(arguments) else None


def on_error(context: RunContextWrapper[Any], error: Exception) -> str:
    """What the SDK does about an error in a tool of our server. What a model may see is no exception of ours; this is
    about what ends the run, and about what never came to us."""
    if isinstance(error, RunStopped):
        raise error
    if isinstance(error, ModelBehaviorError):
        return f"{ERROR}{error}"
    return default_tool_error_function(context, error)


def schema_of(spec: ToolSpec) -> JsonObject:
    # OpenAI takes no schema without properties.
    return {"properties": {}, **spec.plain_schema}


def mcp_tool(spec: ToolSpec) -> mcp_types.Tool:
    try:
        annotations = mcp_types.ToolAnnotations.model_validate(spec.annotations)
    except ValidationError:
        # Hints only, and a tool is worth more than they are.
        annotations = None
    return mcp_types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.description,
        input_schema=schema_of(spec),
        annotations=annotations,
    )


def shown(outcome: Outcome) -> tuple[str | Picture, ...]:
    """What a model is shown. Raises what ends the run."""
    if isinstance(outcome, ToolResult):
        return parts(outcome)
    if reaction(outcome) is Reaction.STOP:
        raise _stopped(outcome)
    return (f"{ERROR}{told(outcome)}",)


def _stopped(failure: ToolFailure) -> AgentStopped:
    return AgentStopped(
        failure.message, failure=failure, where=failure.tool, evidence=failure.evidence, fix=failure.fix
    )


def _content(part: str | Picture) -> mcp_types.TextContent | mcp_types.ImageContent:
    # Not validated: it is made of what was read and checked already.
    if isinstance(part, str):
        return mcp_types.TextContent.model_construct(type="text", text=part)
    return mcp_types.ImageContent.model_construct(type="image", data=part.data, mime_type=part.mime_type)


def _output(part: str | Picture) -> ToolOutputText | ToolOutputImage:
    """The same as an output of a function tool."""
    if isinstance(part, str):
        return ToolOutputText(text=part)
    return ToolOutputImage(image_url=f"data:{part.mime_type};base64,{part.data}")


def _prompt(spec: PromptSpec) -> mcp_types.Prompt:
    arguments = [
        mcp_types.PromptArgument(name=one.name, title=one.title, description=one.description, required=one.required)
        for one in spec.arguments
    ]
    return mcp_types.Prompt(name=spec.name, title=spec.title, description=spec.description, arguments=arguments)


def _resource(spec: ResourceSpec) -> mcp_types.Resource:
    return mcp_types.Resource(
        uri=spec.uri,
        name=spec.name,
        title=spec.title,
        description=spec.description,
        mime_type=spec.mime_type,
        size=spec.size,
    )


def _template(spec: ResourceSpec) -> mcp_types.ResourceTemplate:
    return mcp_types.ResourceTemplate(
        uri_template=spec.uri_template,
        name=spec.name,
        title=spec.title,
        description=spec.description,
        mime_type=spec.mime_type,
    )


def _raw(got: PromptResult | ResourceResult | ToolFailure) -> JsonObject:
    """Programs ask for prompts and resources, and no model: what failed is raised, as by any MCP server here."""
    if isinstance(got, ToolFailure):
        raise MCPError(mcp_types.INTERNAL_ERROR, told(got))
    return got.raw
