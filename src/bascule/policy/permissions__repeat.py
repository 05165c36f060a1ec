"""Whether a call that may have been carried out may be sent once more."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from bascule.core.permission import Permission

READS_ONLY = frozenset({Permission.READ})


def may_repeat(idempotent: Iterable[str], permissions: frozenset[Permission], tool: str) -> bool:
    """Whether doing it twice does no harm: it only reads, or the operator's globs name it. What a server says of its
    own tools is not asked: it would be believed about what only the operator has to bear."""
    return permissions == READS_ONLY or any(fnmatchcase(tool, pattern) for pattern in idempotent)
