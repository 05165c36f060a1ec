"""What the reference servers offer beside plain tools: resources, a template, a prompt, completions, and tools that ask
a person or a model something before they answer."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

NOTES = {"monday": "The bridge is down.", "tuesday": "The bridge is up."}


class Colour(BaseModel):
    """What a person is asked for. The second field is one they may leave out."""

    colour: Literal["red", "green", "blue"]
    shade: str = Field(default="pale")


QUESTION = "Which colour?"
COLOUR_SCHEMA = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "shade": {"type": "string", "default": "pale"},
    },
    "required": ["colour"],
}


def index() -> str:
    """Every day there is a note for."""
    return " ".join(NOTES)


def read_note(day: str) -> str:
    """One note."""
    return NOTES[day]


def greet(name: str, manner: str = "warmly") -> str:
    """Greet somebody."""
    return f"Greet {name} {manner}."


async def complete(ref: Any, argument: Any, context: Any) -> Any:
    from mcp_types import Completion

    known = sorted((context.arguments if context is not None else None) or {})
    values = [*(day for day in NOTES if day.startswith(argument.value)), *known]
    return Completion(values=values, total=len(values), has_more=False)


def offer_sdk(server: Any) -> None:
    """On the official SDK's server, whose own resolvers ask in whichever way the era has."""
    from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
    from mcp.server.mcpserver.resolve import Elicit, Resolve, Sample
    from mcp_types import CreateMessageResult, SamplingMessage, TextContent

    def which() -> Elicit[Colour]:
        return Elicit(QUESTION, Colour)

    def poem() -> Sample:
        said = SamplingMessage(role="user", content=TextContent(type="text", text="A line, please."))
        return Sample([said], max_tokens=10)

    async def ask(chosen: Annotated[ElicitationResult[Colour], Resolve(which)]) -> str:
        if isinstance(chosen, AcceptedElicitation):
            return f"{chosen.data.shade} {chosen.data.colour}"
        return chosen.action

    async def write(line: Annotated[CreateMessageResult, Resolve(poem)]) -> str:
        assert isinstance(line.content, TextContent)
        return f"{line.content.text} ({line.model})"

    server.add_tool(ask)
    server.add_tool(write)
    server.resource("notes://index", mime_type="text/plain")(index)
    server.resource("notes://{day}")(read_note)
    server.prompt()(greet)
    server.completion()(complete)


def offer_fastmcp(server: Any) -> None:
    """On FastMCP's, by returning the new era's request for input by hand."""
    from fastmcp import Context
    from mcp_types import (
        CreateMessageRequest,
        CreateMessageRequestParams,
        ElicitRequest,
        ElicitRequestFormParams,
        InputRequiredResult,
        SamplingMessage,
        TextContent,
    )

    async def ask(ctx: Context) -> str | InputRequiredResult:
        if ctx.input_responses is None:
            params = ElicitRequestFormParams(message=QUESTION, requested_schema=COLOUR_SCHEMA)
            return InputRequiredResult(input_requests={"which": ElicitRequest(params=params)}, request_state="asked")
        assert ctx.request_state == "asked"
        answer: Any = ctx.input_responses["which"]
        return f"{answer.content['shade']} {answer.content['colour']}" if answer.content else answer.action

    async def write(ctx: Context) -> str | InputRequiredResult:
        if ctx.input_responses is None:
            said = SamplingMessage(role="user", content=TextContent(type="text", text="A line, please."))
            params = CreateMessageRequestParams(messages=[said], max_tokens=10)
            return InputRequiredResult(input_requests={"poem": CreateMessageRequest(params=params)})
        answer: Any = ctx.input_responses["poem"]
        return f"{answer.content.text} ({answer.model})"

    server.tool(ask)
    server.tool(write)
    server.resource("notes://index", mime_type="text/plain")(index)
    server.resource("notes://{day}")(read_note)
    server.prompt(greet)
    server.completion(complete)
