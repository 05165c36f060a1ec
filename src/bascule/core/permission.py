"""Permission classes of tools: read, write, connect."""

from enum import StrEnum


class Permission(StrEnum):
    """A class of effect."""

    READ = "read"
    WRITE = "write"
    CONNECT = "connect"


READING = frozenset({Permission.READ})
"""What changes nothing and reaches nobody."""

WRITING = frozenset({Permission.WRITE})

UNDECLARED = frozenset({Permission.WRITE, Permission.CONNECT})
"""What a tool counts as until an operator says otherwise. A server's silence must not make its tools harmless."""
