"""Program templates of `bascule snippet`, one per agent framework, with placeholders such as `@TOOL@`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snippet:
    """A short, whole program."""

    module: str
    """What has to be installed for it."""
    extra: str
    text: str


_PYDANTIC_AI = '''"""A PydanticAI agent with the governed tools of this folder's config."""

import asyncio

from bascule import Runtime
from bascule.bridges.pydantic_ai import toolset
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

SAID = iter((ToolCallPart(@TOOL@, @ARGUMENTS@), TextPart("done")))


def played(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    return ModelResponse([next(SAID)])


MODEL = FunctionModel(played)  # played, so that this runs without a key; "anthropic:…" or "openai:…" takes its place


async def main() -> None:
    async with Runtime.from_file(@CONFIG@) as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = Agent(MODEL, toolsets=[toolset(session)])
        run = await agent.run(@PROMPT@)
        for message in run.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    print(f"{part.tool_name}: {part.content}")
        print(run.output)
        print(f"level: {session.sensitivity.name}, lane: {session.lane.name}")


asyncio.run(main())
'''

_LANGCHAIN = '''"""A LangChain agent with the governed tools of this folder's config."""

import asyncio
from typing import Any

from bascule import Runtime
from bascule.bridges.langchain import tools
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Played(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> "Played":
        return self


SAID = (AIMessage("", tool_calls=[{"name": @TOOL@, "args": @ARGUMENTS@, "id": "1"}]), AIMessage("done"))
MODEL = Played(messages=iter(SAID))  # played, so that this runs without a key; "anthropic:…" takes its place


async def main() -> None:
    async with Runtime.from_file(@CONFIG@) as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = create_agent(MODEL, await tools(session))
        state = await agent.ainvoke({"messages": [{"role": "user", "content": @PROMPT@}]})
        for message in state["messages"]:
            print(f"{message.type}: {message.text}")
        print(f"level: {session.sensitivity.name}, lane: {session.lane.name}")


asyncio.run(main())
'''

_OPENAI = '''"""An agent of the OpenAI Agents SDK with the governed tools of this folder's config."""

import asyncio

from agents import Agent, RunConfig, Runner
from agents.items import ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from bascule import Runtime
from bascule.bridges.openai_agents import mcp_server

# Played, so that this runs without a key. The name of a model takes its place.
MODEL = ScriptedModel([[function_call(@TOOL@, @ARGUMENTS@, call_id="1")], [assistant_message("done")]])


async def main() -> None:
    async with Runtime.from_file(@CONFIG@) as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = Agent("Agent", model=MODEL, mcp_servers=[mcp_server(session)])
        config = RunConfig(tracing_disabled=True)  # tracing would send what is said to OpenAI
        ran = await Runner.run(agent, @PROMPT@, run_config=config)
        for item in ran.new_items:
            if isinstance(item, ToolCallOutputItem):
                print(f"tool: {item.output['text']}")
        print(ran.final_output)
        print(f"level: {session.sensitivity.name}, lane: {session.lane.name}")


asyncio.run(main())
'''

_CLAUDE = '''"""An agent of the Claude Agent SDK with the governed tools of this folder's config. It needs a login."""

import asyncio

from bascule import Runtime
from bascule.bridges.claude_sdk import options, watched
from claude_agent_sdk import ResultMessage, ToolResultBlock, UserMessage, query


async def main() -> None:
    async with Runtime.from_file(@CONFIG@) as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        made = options(session)
        prompt = @PROMPT@
        async for message in watched(query(prompt=prompt, options=made), made):
            if isinstance(message, UserMessage):
                results = [block for block in message.content if isinstance(block, ToolResultBlock)]
                print(*("tool: failed" if result.is_error else "tool: went well" for result in results))
            elif isinstance(message, ResultMessage):
                print(message.result)
        print(f"level: {session.sensitivity.name}, lane: {session.lane.name}")


asyncio.run(main())
'''

_WEAKINCENTIVES = '''"""A weakincentives prompt with the governed tools of this folder's config, on Codex."""

from bascule import Runtime
from bascule.bridges.weakincentives import McpIntegrationSection, McpToolInvoked
from weakincentives.adapters.codex_app_server import CodexAppServerAdapter
from weakincentives.prompt import MarkdownSection, Prompt, PromptTemplate
from weakincentives.runtime import InProcessDispatcher, Session

model = CodexAppServerAdapter()
session = Session(dispatcher=InProcessDispatcher())
session.dispatcher.subscribe(McpToolInvoked, lambda event: print("called:", getattr(event, "tool_name", None)))

with McpIntegrationSection(session=session, runtime=Runtime.from_file(@CONFIG@), user_id="ada") as tools:
    task = MarkdownSection(title="Task", key="task", template=@PROMPT@)
    prompt = Prompt(PromptTemplate[None](ns="snippet", key="task", sections=[task, tools]))
    print(model.evaluate(prompt, session=session).text)
    print(f"level: {tools.agent_session.sensitivity.name}, lane: {tools.agent_session.lane.name}")
'''

_PLAIN = '''"""The governed tools of this folder's config, without a framework and without an event loop."""

from bascule.bridges.plain import MCPToolGateway

with MCPToolGateway(@CONFIG@, user_id="ada", session_id="s-1") as gateway:
    for tool in gateway.list_tools():
        print(f"{tool.name}: {tool.description.splitlines()[0] if tool.description else ''}")
    reply = gateway.call(@TOOL@, @ARGUMENTS@, timeout=30)  # as a model asks for it
    print("failed:" if reply["isError"] else "result:", reply.text)
    print(f"level: {gateway.session.sensitivity.name}, lane: {gateway.session.lane.name}")
'''

SNIPPETS = {
    "pydantic-ai": Snippet("pydantic_ai", "pydantic-ai", _PYDANTIC_AI),
    "langchain": Snippet("langchain", "langchain", _LANGCHAIN),
    "openai": Snippet("agents", "openai", _OPENAI),
    "claude": Snippet("claude_agent_sdk", "claude", _CLAUDE),
    "weakincentives": Snippet("weakincentives", "weakincentives", _WEAKINCENTIVES),
    "plain": Snippet("bascule", "", _PLAIN),
}


def filled(text: str, **values: object) -> str:
    """The program with these in it, each as Python writes it."""
    for name, value in values.items():
        text = text.replace(f"@{name.upper()}@", repr(value).replace("'", '"') if _plain(value) else repr(value))
    return text


def _plain(value: object) -> bool:
    """Whether the quotes can be the usual ones."""
    return not any(sign in repr(value) for sign in ('"', "\\"))
