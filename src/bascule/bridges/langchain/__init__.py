"""Bridge to LangChain and LangGraph: `create_agent(model, await tools(session))` with an agent session's tools."""

from typing import TYPE_CHECKING, Any

from bascule.bridges.langchain.tool import GovernedTool, ToolFailed, tools

if TYPE_CHECKING:
    from bascule.bridges.langchain.middleware import live_tools

__all__ = ["GovernedTool", "ToolFailed", "live_tools", "tools"]


def __getattr__(name: str) -> Any:
    """Middleware is for LangChain's agents alone, which take seconds to import: a graph of one's own does without."""
    if name != "live_tools":
        raise AttributeError(f"module 'bascule.bridges.langchain' has no attribute {name!r}")
    from bascule.bridges.langchain.middleware import live_tools  # noqa: PLC0415

    return live_tools
