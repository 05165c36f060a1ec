"""Test support for servers and agents: in-memory clients with a principal on a real runtime, and a call recorder."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bascule.testing.calls import Call, Calls
    from bascule.testing.clients import Client, client

__all__ = ["Call", "Calls", "Client", "client"]

_HOMES = {
    "Call": "bascule.testing.calls",
    "Calls": "bascule.testing.calls",
    "Client": "bascule.testing.clients",
    "client": "bascule.testing.clients",
}


def __getattr__(name: str) -> Any:
    """Loaded when first used: every run of pytest on this machine loads the plugin that lies beside."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'bascule.testing' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(home), name)
