"""Cost estimate of a regular expression, from its text. Nothing is compiled or matched here.

The validator's engine is linear: each character of a text costs at most one step per state of the expression. Only
look-around and back-references make it backtrack, and then it gives up after a fixed number of tries. So the number of
states bounds the time, and counted repeats such as `{1,1000}` make most of the states."""

import re
from typing import NamedTuple

MAX_TRIES = 1000
"""Times the engine may go back in one match before it gives up, for expressions that need it."""

MAX_LENGTH = 4000
"""Longest expression we read. The longest in use, for mail addresses, have a few hundred characters."""

_BACKTRACKING = re.compile(r"\(\?<?[=!]|\\[1-9]|\\k[<{]|\(\?>|[*+?}]\+")

_LIMIT = 10**9


class Load(NamedTuple):
    """What an expression costs: `states` once for every character matched, `build` once when it is compiled."""

    states: int
    build: int


_LITERAL = Load(1, 1)
_WIDE = Load(2, 26)
"""Any character but a few: some dozen byte ranges in UTF-8."""
_PROPERTY = Load(2, 800)
"""A Unicode property such as `\\p{L}`: hundreds of byte ranges."""

# Every part is bounded or runs to the end at once: this is fed by those whose expressions we fear.
_TOKEN = re.compile(
    r"""(?P<property>\\[pP](?:\{[^}]{0,40}\}|.))
    |(?P<word>\\[wdsbB])
    |(?P<wide>\\[WDS]|\.|[^\x00-\x7f])
    |(?P<set>\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\\?\Z))
    |(?P<repeat>\{(?P<least>\d{0,10}),?(?P<most>\d{0,10})\})
    |(?P<open>\((?:\?(?:<?[=!]|P?<[^>]{0,40}>|[a-z-]{0,8}:|>))?)
    |(?P<close>\))
    |(?P<quantifier>[*+?|^$])
    |(?P<literal>\\.|.)""",
    re.VERBOSE | re.DOTALL,
)


_ONE_SET = re.compile(r"\^(?:\[(?:\\.|[^\]\\])*\]|\\[wdsWDS]|\.)(?:[*+?]|\{\d{1,10},?\d{0,10}\})\$", re.DOTALL)
"""One set of characters, repeated, from start to end. However long, it is in one state at a time."""


def backtracks(pattern: str) -> bool:
    """Whether the linear engine cannot run this expression."""
    return _BACKTRACKING.search(pattern) is not None


def load_of(pattern: str) -> Load:
    """An upper estimate. Text that is no regular expression gets some number too; compiling will refuse it."""
    unicode_words = backtracks(pattern)
    groups: list[list[Load]] = [[]]
    for token in _TOKEN.finditer(pattern):
        match token.lastgroup:
            case "open":
                groups.append([])
            case "close":
                _close(groups)
            case "repeat":
                _repeat(groups[-1], token)
            case "quantifier":
                pass
            case kind:
                groups[-1].append(_atom(kind, token.group(), unicode_words=unicode_words))
    while len(groups) > 1:
        _close(groups)
    total = _sum(groups[0])
    folded = 6 if "(?i" in pattern else 1
    states = 2 if _ONE_SET.fullmatch(pattern) else total.states
    return Load(states * folded, total.build * folded)


def _atom(kind: str | None, text: str, *, unicode_words: bool) -> Load:
    match kind:
        case "property":
            return _PROPERTY
        case "word":
            return _PROPERTY if unicode_words else _LITERAL
        case "wide":
            return _WIDE
        case "set":
            return _set(text, unicode_words=unicode_words)
        case _:
            return _LITERAL


def _set(text: str, *, unicode_words: bool) -> Load:
    properties = text.count("\\p") + text.count("\\P")
    if unicode_words:
        properties += sum(text.count(word) for word in ("\\w", "\\d", "\\s"))
    if properties:
        return Load(2, 1000)
    plain = text.isascii() and not text.startswith("[^") and not re.search(r"\\[WDSu]", text)
    return _LITERAL if plain else _WIDE


def _close(groups: list[list[Load]]) -> None:
    if len(groups) > 1:
        done = groups.pop()
        groups[-1].append(_sum(done))


def _repeat(group: list[Load], token: re.Match[str]) -> None:
    if group:
        times = max(_count(token["least"]) + 1, _count(token["most"]))
        last = group.pop()
        group.append(Load(min(last.states * times, _LIMIT), min(last.build * times, _LIMIT)))


def _count(digits: str | None) -> int:
    return int(digits) if digits else 0


def _sum(loads: list[Load]) -> Load:
    return Load(sum(load.states for load in loads), sum(load.build for load in loads))
