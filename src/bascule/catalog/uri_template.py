"""URI template matching (RFC 6570), in time linear in the URI for every template."""

import re
from collections.abc import Mapping

MAX_BLANKS = 64
"""Expressions in one template. Nobody needs more than a few."""

_PART = re.compile(r"\{([^{}]*)\}|([^{}]+)|(.)", re.DOTALL)
_EXPRESSION = re.compile(r"[+#./;?&]?[\w.%]+(?::\d{1,4}|\*)?(?:,[\w.%]+(?::\d{1,4}|\*)?)*", re.ASCII)

_EXCLUDED: Mapping[str, str] = {"": "/?#", "+": "", "#": "", ".": "/?#", "/": "?#", ";": "/?#", "?": "#", "&": "#"}
"""By operator: the characters that cannot be part of what an expression becomes."""

_FILLED = frozenset({"", "+"})
"""Operators whose expression is taken to become something. The others vanish when their variables are not set."""


class UriTemplate:
    """A template, ready to be asked.

    It is a row of items, each one character or any number of characters of a kind. The set of all items that could come
    next is one integer, a bit for each; a character moves all of them at once.
    """

    __slots__ = ("_goal", "_kinds", "_literals", "_loops", "prefix")

    def __init__(self, prefix: str, row: "_Row") -> None:
        self.prefix = prefix
        """What every URI of the template begins with."""
        self._literals = row.literals
        self._kinds = tuple(row.kinds.items())
        self._loops = row.loops
        self._goal = 1 << row.length

    def matches(self, uri: str) -> bool:
        if not uri.startswith(self.prefix):
            return False
        moves: dict[str, tuple[int, int]] = {}
        loops = self._loops
        state = 1 | (loops & 1) << 1
        for character in uri[len(self.prefix) :]:
            if character not in moves:
                moves[character] = self._moves(character)
            step, stay = moves[character]
            state = (state & step) << 1 | (state & stay)
            # What may be repeated may also be left out.
            state |= (state & loops) << 1
            if not state:
                return False
        return bool(state & self._goal)

    def _moves(self, character: str) -> tuple[int, int]:
        """The items that this character passes, and those it stays at."""
        fitting = self._literals.get(character, 0)
        for excluded, places in self._kinds:
            if character not in excluded:
                fitting |= places
        return fitting & ~self._loops, fitting & self._loops


class _Row:
    """The items of a template so far: where each character stands, where each kind of blank, and which may repeat."""

    def __init__(self) -> None:
        self.literals: dict[str, int] = {}
        self.kinds: dict[str, int] = {}
        self.loops = 0
        self.length = 0
        self._last = ""

    def add_literal(self, text: str) -> None:
        for character in text:
            self.literals[character] = self.literals.get(character, 0) | 1 << self.length
            self.length += 1

    def add_blank(self, operator: str) -> None:
        excluded = _EXCLUDED[operator]
        if operator in _FILLED:
            self._add(excluded)
        if self.length and self.loops >> (self.length - 1) & 1:
            # Two that may both be left out are one, of either's characters: then no way past them is longer than one.
            self.kinds[self._last] &= ~(1 << (self.length - 1))
            self.length -= 1
            excluded = "".join(character for character in excluded if character in self._last)
        self.loops |= 1 << self.length
        self._last = excluded
        self._add(excluded)

    def _add(self, excluded: str) -> None:
        self.kinds[excluded] = self.kinds.get(excluded, 0) | 1 << self.length
        self.length += 1


def parse_template(text: str) -> UriTemplate | str:
    """The template, or why it is none."""
    row, blanks = _Row(), 0
    prefix = text.partition("{")[0].partition("}")[0]
    for expression, literal, stray in _PART.findall(text[len(prefix) :]):
        if literal:
            row.add_literal(literal)
        elif stray:
            return f"it has a {stray!r} without its other half"
        elif _EXPRESSION.fullmatch(expression) is None:
            return f"{{{expression[:40]}}} is no expression"
        else:
            blanks += 1
            row.add_blank(expression[0] if expression[0] in _EXCLUDED else "")
    return UriTemplate(prefix, row) if blanks <= MAX_BLANKS else f"it has more than {MAX_BLANKS} expressions"
