"""A tool call as it comes through any door."""

from typing import Any

import msgspec

from bascule.core.request import OnProgress


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """Which tool, with which arguments. Only the arguments that were given are here, and only they travel."""

    name: str
    arguments: dict[str, Any]
    timeout: float | None = None
    """Seconds; None for what is configured."""
    on_progress: OnProgress | None = None
