"""An agent session's tools for LangChain and LangGraph: `create_agent(model, await tools(session))`."""

from bascule.bridges.langchain.tool import GovernedTool, ToolFailed, tools

__all__ = ["GovernedTool", "ToolFailed", "tools"]
