"""Names that look like a mistaken one."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

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
