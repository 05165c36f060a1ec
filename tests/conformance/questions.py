"""What the official suite wants a server to have that asks its client: for words of a model, or of the user.

In the old era a tool asks while it runs. In the new one it answers with what it wants to know, and is called again.
"""

import json
from typing import Any

from contents import READS
from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingCapability,
    SamplingMessage,
    TextContent,
)


def one_field(name: str, kind: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}


def ask_user(message: str, schema: dict[str, Any]) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def ask_model(words: str, tokens: int) -> CreateMessageRequest:
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[said(words)], max_tokens=tokens))


def said(words: str) -> SamplingMessage:
    return SamplingMessage(role="user", content=TextContent(type="text", text=words))


def needs(state: str | None = None, **requests: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=requests, request_state=state)


NAME = ask_user("What is your name?", one_field("name", "string"))
CONFIRM = ask_user("Please confirm", one_field("ok", "boolean"))

DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}

CHOICES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": [
                {"const": "value1", "title": "First Option"},
                {"const": "value2", "title": "Second Option"},
                {"const": "value3", "title": "Third Option"},
            ],
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": [
                    {"const": "value1", "title": "First Choice"},
                    {"const": "value2", "title": "Second Choice"},
                    {"const": "value3", "title": "Third Choice"},
                ]
            },
        },
    },
}

WHO: dict[str, Any] = {
    "type": "object",
    "properties": {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    },
    "required": ["username", "email"],
}


async def elicited(ctx: Context, message: str, schema: dict[str, Any]) -> str:
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@READS
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    answer = await ctx.session.create_message(  # pyright: ignore[reportDeprecated]
        [said(prompt)], max_tokens=100, related_request_id=ctx.request_id
    )
    return f"LLM response: {getattr(answer.content, 'text', '')}"


@READS
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the client's user."""
    return f"User response: {await elicited(ctx, message, WHO)}"


@READS
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with a default for every kind of field."""
    return f"Elicitation completed: {await elicited(ctx, 'Please check these', DEFAULTS)}"


@READS
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks with every kind of choice."""
    return f"Elicitation completed: {await elicited(ctx, 'Please choose', CHOICES)}"


ASKING_WHILE_RUNNING = (
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
)
"""The way of the old era."""


def _confirmed(ctx: Context, state: str, words: str) -> Any:
    if ctx.request_state == state and "confirm" in (ctx.input_responses or {}):
        return words
    return needs(state, confirm=CONFIRM)


@READS
def test_input_required_result_elicitation(ctx: Context) -> Any:
    """Wants a name."""
    match (ctx.input_responses or {}).get("user_name"):
        case ElicitResult(action="accept", content={"name": name}):
            return f"Hello, {name}!"
        case _:
            return needs(user_name=NAME)


@READS
def test_input_required_result_sampling(ctx: Context) -> Any:
    """Wants words of a model."""
    match (ctx.input_responses or {}).get("capital_question"):
        case CreateMessageResult(content=TextContent(text=words)):
            return words
        case _:
            return needs(capital_question=ask_model("What is the capital of France?", 100))


@READS
def test_input_required_result_list_roots(ctx: Context) -> Any:
    """Wants the client's roots."""
    match (ctx.input_responses or {}).get("client_roots"):
        case ListRootsResult(roots=roots):
            return ", ".join(str(root.uri) for root in roots)
        case _:
            return needs(client_roots=ListRootsRequest())


@READS
def test_input_required_result_request_state(ctx: Context) -> Any:
    """Wants a yes, and its own state back."""
    return _confirmed(ctx, "asked once", "state-ok")


@READS
def test_input_required_result_tampered_state(ctx: Context) -> Any:
    """Wants its own state back, as it was."""
    return _confirmed(ctx, "asked, and not to be altered", "untouched")


@READS
def test_input_required_result_multiple_inputs(ctx: Context) -> Any:
    """Wants three things at once."""
    if ctx.request_state == "asked for three" and len(ctx.input_responses or {}) == 3:
        return "all three are here"
    greeting = ask_model("Generate a greeting", 50)
    return needs("asked for three", user_name=NAME, greeting=greeting, client_roots=ListRootsRequest())


@READS
def test_input_required_result_multi_round(ctx: Context) -> Any:
    """Wants one thing after the other."""
    answers = ctx.input_responses or {}
    if ctx.request_state == "first" and "step1" in answers:
        colour = ask_user("Step 2: What is your favorite color?", one_field("color", "string"))
        return needs("second", step2=colour)
    if ctx.request_state == "second" and "step2" in answers:
        return "both steps are done"
    return needs("first", step1=ask_user("Step 1: What is your name?", one_field("name", "string")))


@READS
def test_input_required_result_capabilities(ctx: Context) -> Any:
    """Wants only what the client can give."""
    able = ctx.session.client_capabilities or ClientCapabilities()
    questions: dict[str, InputRequest] = {}
    if able.elicitation is not None:
        questions["user_name"] = NAME
    if able.sampling is not None:
        questions["greeting"] = ask_model("Generate a greeting", 50)
    if not questions:
        raise ToolError("the client can be asked for nothing")
    return InputRequiredResult(input_requests=questions)


@READS
def test_streaming_elicitation(ctx: Context) -> Any:
    """Wants a yes, without asking on the stream."""
    return _confirmed(ctx, "asked", "confirmed")


@READS
def test_missing_capability(ctx: Context) -> str:
    """Works only for clients with a model."""
    able = ctx.session.client_capabilities
    if able is None or able.sampling is None:
        wanted = ClientCapabilities(sampling=SamplingCapability())
        data = {"requiredCapabilities": wanted.model_dump(by_alias=True, mode="json", exclude_none=True)}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs a client that can sample", data)
    return "the client can sample"


ASKING_BY_ANSWERING = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_streaming_elicitation,
    test_missing_capability,
)
"""The way of the new era."""


def test_input_required_result_prompt(ctx: Context) -> Any:
    """Wants to know about what."""
    match (ctx.input_responses or {}).get("user_context"):
        case ElicitResult(action="accept", content={"context": about}):
            return [Message(f"Use this: {about}")]
        case _:
            question = ask_user("What context should the prompt use?", one_field("context", "string"))
            return needs(user_context=question)
