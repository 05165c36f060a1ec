"""LangChain middleware that lists an agent session's tools again before each model request. Separate,
because it is imported late: LangChain's agents take seconds to import."""

from collections.abc import Awaitable, Callable
from typing import Any

from bascule.bridges.langchain.tool import GovernedTool, governed
from bascule.core.errors import missing
from bascule.core.tool import ToolSpec
from bascule.runtime.session import AgentSession

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ModelCallResult
    from langchain.tools.tool_node import ToolCallRequest
    from langchain_core.messages import ToolMessage
    from langgraph.types import Command
except ModuleNotFoundError as error:
    if error.name == "langchain":
        raise missing("LangChain", "langchain", error) from error
    raise


def live_tools(session: AgentSession) -> "LiveTools":
    """Middleware with the agent session's tools: `create_agent(model, middleware=[live_tools(session)])`."""
    return LiveTools(session)


class LiveTools(AgentMiddleware[Any, Any, Any]):
    """One agent session's tools, beside those that the agent was made with."""

    def __init__(self, session: AgentSession) -> None:
        super().__init__()
        self._session = session
        self._made: dict[str, tuple[ToolSpec, GovernedTool]] = {}
        """By name, with what it was made of."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelCallResult[Any]:
        self._made = {spec.name: self._tool(spec) for spec in await self._session.offered()}
        listed = [tool for _, tool in self._made.values()]
        others = [tool for tool in request.tools if not self._is_ours(tool)]
        return await handler(request.override(tools=[*others, *listed]))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        made = self._made.get(request.tool_call["name"])
        return await handler(request if request.tool or not made else request.override(tool=made[1]))

    def _tool(self, spec: ToolSpec) -> tuple[ToolSpec, GovernedTool]:
        made = self._made.get(spec.name)
        return made if made and made[0] == spec else (spec, governed(self._session, spec))

    def _is_ours(self, tool: Any) -> bool:
        """Whether the agent was made with it, from the same agent session: it may not be what it was."""
        return isinstance(tool, GovernedTool) and tool.session is self._session
