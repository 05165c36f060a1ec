"""Exposure of a server's tools to agents: the operator's allow list less the block list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Self, cast

_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Exposure:
    """Two lists of globs over the server's own names, ready to be asked. `allow` None means every tool."""

    allow: re.Pattern[str] | None
    block: re.Pattern[str]

    @classmethod
    def of(cls, allow: Any, block: Any = ()) -> Self:
        """From what the config says. A list that cannot be read exposes nothing, whichever of the two it is."""
        allowed = None if allow is None else _globs(allow)
        blocked = _globs(block)
        if blocked is None or (allow is not None and allowed is None):
            return cls(_NOTHING, _NOTHING)
        return cls(allowed, blocked)

    def permits(self, tool: str) -> bool:
        return (self.allow is None or self.allow.match(tool) is not None) and self.block.match(tool) is None


def _globs(patterns: Any) -> re.Pattern[str] | None:
    """One expression for all the globs, or None if they are not a list of strings. Case counts."""
    if not isinstance(patterns, list | tuple):
        return None
    given = cast("Sequence[Any]", patterns)
    texts = [pattern for pattern in given if isinstance(pattern, str)]
    if len(texts) != len(given):
        return None
    return re.compile("|".join(map(translate, texts))) if texts else _NOTHING
