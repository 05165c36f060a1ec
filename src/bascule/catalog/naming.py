"""Exposed names of tools (prefix and own name, in characters that every model API takes), and the nearest names to a
mistaken one."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

MAX_NAME = 64
"""Longest name the model APIs take."""

_TAIL = 8
"""Hex digits of the hash that tells cut or altered names apart. Within one server, chance clashes are out of reach."""

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")


def exposed_names(server: str, prefix: str, tools: Iterable[str]) -> dict[str, str]:
    """The exposed name of each of a server's tools.

    Forbidden characters become underscores. Where that would give two tools one name, those that were altered get a
    hash tail, and one that already had the name keeps it.
    """
    plain = {tool: _FORBIDDEN.sub("_", _joined(prefix, tool)) for tool in tools}
    uses = Counter(plain.values())
    return {tool: _fitted(name, server, prefix, tool, shared=uses[name] > 1) for tool, name in plain.items()}


def _joined(prefix: str, tool: str) -> str:
    return f"{prefix}_{tool}" if prefix else tool


def _fitted(name: str, server: str, prefix: str, tool: str, *, shared: bool) -> str:
    altered = name != _joined(prefix, tool)
    if len(name) <= MAX_NAME and not (altered and shared):
        return name
    tail = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:_TAIL]
    return f"{name[: MAX_NAME - _TAIL - 1]}_{tail}"


def collision_problem(name: str, keys: Iterable[str]) -> str:
    """Why none of several tools is exposed, and what to do about it."""
    return f"{' and '.join(sorted(keys))} would both be called {name}; give one of the servers another `prefix`"


MAX_COMPARED = 100
"""Names that are compared letter by letter. The comparison is slow, and whoever errs can be made to err often."""

_LONGEST = 64
_WORD = re.compile(r"[a-z0-9]{3,}")


def nearest_names(name: str, names: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Up to `limit` of `names` that look like `name`, best first."""
    wanted = name[:_LONGEST].lower()
    by_fold = {known.lower(): known for known in names}
    found = get_close_matches(wanted, _likely(wanted, by_fold), n=limit, cutoff=0.5)
    return tuple(by_fold[fold] for fold in found)


def _likely(wanted: str, folds: Iterable[str]) -> list[str]:
    """The few worth comparing: those that share a word or a beginning, then those of like length."""
    words = _WORD.findall(wanted)
    start = wanted[:3]

    def unlikeness(fold: str) -> tuple[int, int]:
        shared = sum(word in fold for word in words) + fold.startswith(start)
        return -shared, abs(len(fold) - len(wanted))

    return sorted(folds, key=unlikeness)[:MAX_COMPARED]
