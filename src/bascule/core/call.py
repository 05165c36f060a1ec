"""Tool call, and any other request, as a caller makes it: bridge, gateway, command line or program."""

from typing import Any

import msgspec

from bascule.core.client_features import Respondent
from bascule.core.request import OnProgress


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """Which tool, with which arguments. Only the arguments that were given are here, and only they travel."""

    name: str
    arguments: dict[str, Any]
    timeout: float | None = None
    """Seconds; None for what is configured."""
    on_progress: OnProgress | None = None
    respondent: Respondent | None = None
    """Who answers what servers ask in its course; None for whoever answers for the whole runtime."""


class Inquiry(msgspec.Struct, frozen=True):
    """Any other request: a resource to read, a prompt to fill in, a page of a listing, an argument to complete."""

    name: str
    """What it is about: a URI, a prompt's exposed name, the server whose listing is wanted."""
    arguments: dict[str, Any]
    timeout: float | None = None
    """Seconds; None for what is configured."""
    on_progress: OnProgress | None = None
    server: str | None = None
    """The server to ask, where the caller named one."""
    respondent: Respondent | None = None
    """Who answers what servers ask in its course, like that of a call."""
