"""What a request that is no tool call is about, as the rules look at it."""

import msgspec

from bascule.core.permission import Permission
from bascule.core.tool import ToolKey, ToolStatus

ASKING = frozenset({Permission.READ, Permission.CONNECT})
"""What such a request counts as: it reads, and what it names travels to the server."""


class Subject(msgspec.Struct, frozen=True):
    """One thing of one server: a resource, a prompt, a listing, or a question the server asked."""

    key: ToolKey
    """The server, and its own name for the thing."""
    name: str
    """The name the caller used."""
    permissions: frozenset[Permission] = ASKING
    status: ToolStatus = ToolStatus.EXPOSED
    problem: str = ""
