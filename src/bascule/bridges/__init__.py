"""Bridges: an agent session's tools in PydanticAI, LangChain, OpenAI Agents, Claude, weakincentives, plain Python."""
