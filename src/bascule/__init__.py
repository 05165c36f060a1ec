"""Bascule: a governed MCP runtime for agents. `Runtime` is the way in."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.core.outcome import Outcome, ToolFailure, ToolResult
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession

__version__ = "0.1.0"

__all__ = ["AgentSession", "Outcome", "Runtime", "ToolFailure", "ToolResult", "__version__"]

_HOMES = {
    "AgentSession": "bascule.runtime.session",
    "Outcome": "bascule.core.outcome",
    "Runtime": "bascule.runtime.runtime",
    "ToolFailure": "bascule.core.outcome",
    "ToolResult": "bascule.core.outcome",
}


def __getattr__(name: str) -> Any:
    """The public names, loaded when first used: the command line must not pay for the runtime it may not need."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bascule' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(home), name)
