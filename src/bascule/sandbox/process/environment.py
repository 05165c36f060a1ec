"""Environment of a child process: a fixed safe base, the configured variables, and nothing else."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from os import defpath

SAFE_BASE = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
"""What a program needs to find its files and print. Nothing here is a secret on any system we know."""


def child_environment(
    configured: Mapping[str, str], inherit: Iterable[str], parent: Mapping[str, str]
) -> dict[str, str]:
    """Exactly what is configured, the safe base, and what `inherit` (names or globs) lets through."""
    return {"PATH": defpath, **let_through((*SAFE_BASE, *inherit), parent), **configured}


def let_through(patterns: Iterable[str], parent: Mapping[str, str]) -> dict[str, str]:
    """Those of our variables whose names are given, or match."""
    wanted = tuple(patterns)
    return {name: value for name, value in parent.items() if any(fnmatchcase(name, p) for p in wanted)}
