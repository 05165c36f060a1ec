"""What a child process gets to see of our environment: a fixed safe base, what was configured, and nothing else."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from os import defpath

SAFE_BASE = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
"""What a program needs to find its files and print. Nothing here is a secret on any system we know."""


def child_environment(
    configured: Mapping[str, str], inherit: Iterable[str], parent: Mapping[str, str]
) -> dict[str, str]:
    """Exactly what is configured, the safe base, and what `inherit` (names or globs) lets through."""
    patterns = (*SAFE_BASE, *inherit)
    passed = {name: value for name, value in parent.items() if any(fnmatchcase(name, p) for p in patterns)}
    return {"PATH": defpath, **passed, **configured}
