"""Bascule: a governed MCP runtime for agents. `Runtime` is the way in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.catalog.search import search
    from bascule.catalog.typed.tool import TypedTool, typed_tool
    from bascule.core.answer import Accept, Cancel, Decline, Elicitation, Sampled, Sampling
    from bascule.core.outcome import CompletionResult, Outcome, PromptResult, ResourceResult, ToolFailure, ToolResult
    from bascule.core.reaction import RunStopped
    from bascule.core.unset import UNSET, Unset
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession
    from bascule.runtime.typed_call import typed_call

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "Accept",
    "AgentSession",
    "Cancel",
    "CompletionResult",
    "Decline",
    "Elicitation",
    "Outcome",
    "PromptResult",
    "ResourceResult",
    "RunStopped",
    "Runtime",
    "Sampled",
    "Sampling",
    "ToolFailure",
    "ToolResult",
    "TypedTool",
    "Unset",
    "__version__",
    "search",
    "typed_call",
    "typed_tool",
]

_HOMES = {
    "UNSET": "bascule.core.unset",
    "Accept": "bascule.core.answer",
    "AgentSession": "bascule.runtime.session",
    "Cancel": "bascule.core.answer",
    "CompletionResult": "bascule.core.outcome",
    "Decline": "bascule.core.answer",
    "Elicitation": "bascule.core.answer",
    "Outcome": "bascule.core.outcome",
    "PromptResult": "bascule.core.outcome",
    "ResourceResult": "bascule.core.outcome",
    "RunStopped": "bascule.core.reaction",
    "Runtime": "bascule.runtime.runtime",
    "Sampled": "bascule.core.answer",
    "Sampling": "bascule.core.answer",
    "ToolFailure": "bascule.core.outcome",
    "ToolResult": "bascule.core.outcome",
    "TypedTool": "bascule.catalog.typed.tool",
    "Unset": "bascule.core.unset",
    "search": "bascule.catalog.search",
    "typed_call": "bascule.runtime.typed_call",
    "typed_tool": "bascule.catalog.typed.tool",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: the command line must not pay for the runtime it may not need."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bascule' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(home), name)
