"""Bascule: a governed MCP runtime for agents. `Runtime` is the way in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.catalog.search import search
    from bascule.core.answer import Accept, Cancel, Decline, Elicitation, Sampled, Sampling
    from bascule.core.outcome import CompletionResult, Outcome, PromptResult, ResourceResult, ToolFailure, ToolResult
    from bascule.core.reaction import RunStopped
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession

__version__ = "0.1.0"

__all__ = [
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
    "__version__",
    "search",
]

_HOMES = {
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
    "search": "bascule.catalog.search",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: the command line must not pay for the runtime it may not need."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bascule' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(home), name)
