"""For authors' tests of their own servers and agents: clients with a principal, and a record of what was called.

What is tested is what production does: the calls take the one path of every call, to a server in this process.
"""

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
