"""Character budget of a preview: selection and maximum length of its lines, rows or items."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Shown = Callable[[int], str]
"""One line, row or item, within the characters that it is given."""

LEAST = 60
"""Characters below which a line tells nothing. Rather fewer lines than shorter ones."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is to be shown of a result, if there is room."""

    word: str
    """What it consists of: lines, rows, items, keys."""
    total: int | None
    """How many there are of these. None if nobody counted."""
    head: Sequence[Shown]
    tail: Sequence[Shown] = ()
    header: Sequence[Shown] = ()
    """Without which the rest is not understood: it comes first, and does not count."""
    marked: Sequence[Shown] = ()
    """Those from the middle that matter most."""
    marked_word: str = ""
    marked_total: int = 0
    last: Shown | None = None
    """The very end as it is, where it cannot be taken apart."""
    also: str = ""
    """What else is told of its size."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What is shown, and a sentence that says so."""

    text: str
    told: str


@dataclass(slots=True)
class _Room:
    """What is left of the characters."""

    left: int
    taken: list[str] = field(default_factory=list[str])

    def take(self, texts: Iterable[str], share: int) -> int:
        """As many of the first as fit into the share. How many that were."""
        count = 0
        for text in texts:
            if len(text) + 1 > min(share, self.left):
                break
            self.left -= len(text) + 1
            share -= len(text) + 1
            count += 1
        return count


def fit(parts: Parts, room: int) -> Fitted:
    """Lines are joined by line ends. The text is never longer than there is room."""
    gaps = 2 * _gap_room(parts)
    left = max(0, room - gaps)
    header = _levelled(parts.header, left // 4)
    left -= sum(len(text) + 1 for text in header)
    last = parts.last(max(0, left // 4 - 1)) if parts.last is not None else ""
    left -= len(last) + 1 if last else 0
    marked = _levelled(parts.marked, left // 2)
    budget = _Room(left)
    marks = budget.take(marked, left // 2)
    ends = _levelled((*parts.head, *parts.tail), budget.left)
    head, tail = ends[: len(parts.head)], ends[len(parts.head) :]
    heads = budget.take(head, budget.left * 2 // 3 if tail else budget.left)
    tails = budget.take(reversed(tail), budget.left)
    heads += budget.take(head[heads:], budget.left)
    lines = [*header, *head[:heads]]
    if marks:
        lines += [_gap(parts, f"{parts.marked_word}, {marks:,} of {parts.marked_total:,}"), *marked[:marks]]
    if tails or last or marks:
        left_out = None if parts.total is None else parts.total - heads - tails - marks
        lines += [_gap(parts, _left_out(parts, left_out))] if left_out is None or left_out > 0 else []
    lines += [*tail[len(tail) - tails :], *([last] if last else [])]
    return Fitted("\n".join(lines), _told(parts, heads, tails, marks))


def _gap_room(parts: Parts) -> int:
    return 40 + len(parts.word) + len(parts.marked_word)


def _gap(parts: Parts, text: str) -> str:
    return f"… {text} …"[: _gap_room(parts) - 1]


def _left_out(parts: Parts, count: int | None) -> str:
    return f"{parts.word} left out" if count is None else f"{counted(count, parts.word)} left out"


def _levelled(units: Sequence[Shown], room: int) -> list[str]:
    """Each as long as it is, if all fit; else the longest are cut until they do, or tell nothing more."""
    if not units or room <= 0:
        return []
    texts = [unit(room - 1) for unit in units]
    level = max(min(LEAST, room - 1), _level([len(text) + 1 for text in texts], room) - 1)
    return [text if len(text) <= level else unit(level) for unit, text in zip(units, texts, strict=True)]


def _level(lengths: Sequence[int], room: int) -> int:
    """The greatest length to which the longest must be cut for all to fit."""
    left, count = room, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return left // count
        left -= length
        count -= 1
    return max(lengths)


def counted(number: int, words: str) -> str:
    """So many of these, the first word of which is in the plural."""
    first, space, rest = words.partition(" ")
    return f"{number:,} {first.removesuffix('s') if number == 1 else first}{space}{rest}"


def _told(parts: Parts, heads: int, tails: int, marks: int) -> str:
    told = [f"the first {counted(heads, parts.word)}"] if heads else []
    told += [counted(marks, parts.marked_word)] if marks else []
    told += [f"the last {counted(tails, parts.word)}"] if tails else []
    told += ["its very end"] if parts.last is not None else []
    return ", ".join(told) or "nothing"
