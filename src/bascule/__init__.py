"""Bascule: a governed MCP runtime for agents. `Runtime` is the way in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.catalog.search.index import search
    from bascule.catalog.typed.tool import TypedTool, typed_tool
    from bascule.core.client_features import (
        Accept,
        Cancel,
        Decline,
        Elicitation,
        Respondent,
        Root,
        RootsAsked,
        Sampled,
        Sampling,
    )
    from bascule.core.failure_action import RunStopped
    from bascule.core.outcome import CompletionResult, Outcome, PromptResult, ResourceResult, ToolFailure, ToolResult
    from bascule.core.principal import Principal
    from bascule.core.unset import UNSET, Unset
    from bascule.kit.errors import ToolFatalError, ToolRetryError
    from bascule.runtime.execution.wrappers import Wrapped
    from bascule.runtime.python_tools import native_server
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession
    from bascule.runtime.typed_call import typed_call
    from bascule.transports.inprocess.python_tool import tool
    from bascule.transports.inprocess.python_types import Media, Progress

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "Accept",
    "AgentSession",
    "Cancel",
    "CompletionResult",
    "Decline",
    "Elicitation",
    "Media",
    "Outcome",
    "Principal",
    "Progress",
    "PromptResult",
    "ResourceResult",
    "Respondent",
    "Root",
    "RootsAsked",
    "RunStopped",
    "Runtime",
    "Sampled",
    "Sampling",
    "ToolFailure",
    "ToolFatalError",
    "ToolResult",
    "ToolRetryError",
    "TypedTool",
    "Unset",
    "Wrapped",
    "__version__",
    "native_server",
    "search",
    "tool",
    "typed_call",
    "typed_tool",
]

_HOMES = {
    "Accept": "bascule.core.client_features",
    "AgentSession": "bascule.runtime.session",
    "Cancel": "bascule.core.client_features",
    "CompletionResult": "bascule.core.outcome",
    "Decline": "bascule.core.client_features",
    "Elicitation": "bascule.core.client_features",
    "Media": "bascule.transports.inprocess.python_types",
    "Outcome": "bascule.core.outcome",
    "Principal": "bascule.core.principal",
    "Progress": "bascule.transports.inprocess.python_types",
    "PromptResult": "bascule.core.outcome",
    "ResourceResult": "bascule.core.outcome",
    "Respondent": "bascule.core.client_features",
    "Root": "bascule.core.client_features",
    "RootsAsked": "bascule.core.client_features",
    "RunStopped": "bascule.core.failure_action",
    "Runtime": "bascule.runtime.runtime",
    "Sampled": "bascule.core.client_features",
    "Sampling": "bascule.core.client_features",
    "ToolFailure": "bascule.core.outcome",
    "ToolFatalError": "bascule.kit.errors",
    "ToolResult": "bascule.core.outcome",
    "ToolRetryError": "bascule.kit.errors",
    "TypedTool": "bascule.catalog.typed.tool",
    "UNSET": "bascule.core.unset",
    "Unset": "bascule.core.unset",
    "Wrapped": "bascule.runtime.execution.wrappers",
    "native_server": "bascule.runtime.python_tools",
    "search": "bascule.catalog.search.index",
    "tool": "bascule.transports.inprocess.python_tool",
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
