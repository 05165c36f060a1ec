"""Search index of tools: ranked by words in names, titles, descriptions, arguments and server names.

All in memory, and over exposed tools only: a hidden tool does not influence the ranking, which would reveal it."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from math import log

from bascule.catalog.search.fields import postings_of
from bascule.catalog.search.tokenizer import STOP, asked_terms, joined, kin_of
from bascule.core.tool import ToolSpec, ToolStatus

USUAL_LIMIT = 10
"""Tools that one search returns, unless the caller gives another number."""

SATURATION = 1.2
"""How soon a term that stands in a tool again and again stops to count for more."""

TAIL = 0.15
"""What fits so much less than the best does not fit: some word of the question stands in half of all tools."""

JUST_SO = 1000.0
"""More than any words can count for."""

MOST_ASKED = 24
"""Terms of a question that count, and MOST_LETTERS of it that are read at all."""

MOST_LETTERS = 600

MOST_EXPANDED = 40
"""Longer words that one beginning of a word may stand for."""

SAME, PREFIX, KIN, SHORTER, NEAR = 0.9, 0.7, 0.45, 0.5, 0.4
"""What a match counts for that is not the word itself: another word for the same, a word that begins with it, one that
is often said for it, one that it begins with, one that is a slip of the finger away."""

LEAST_PREFIX = 3
LEAST_SHORTER = 4
LEAST_NEAR = 4
LEAST_REPLACED = 5
"""Letters of a word from which one of them may be another: of four, half the language is a letter away."""


@dataclass(frozen=True, slots=True)
class Found:
    """What fits some words, best first, and how many tools fit them in all."""

    tools: tuple[ToolSpec, ...]
    total: int


class SearchIndex:
    """The terms of some tools. Frozen: other tools are another index."""

    def __init__(self, tools: Iterable[ToolSpec]) -> None:
        self._tools = [tool for tool in tools if tool.status is ToolStatus.EXPOSED]
        self._names = _by_name(self._tools)
        self._postings = postings_of(self._tools)

    def find(self, words: str, limit: int) -> Found:
        """The tools that fit best. A tool that is called just so comes first; among equals the name decides."""
        words = words[:MOST_LETTERS]
        scores = self._scores(words)
        least = TAIL * max(scores.values(), default=0.0)
        scores = {at: score for at, score in scores.items() if score >= least}
        for rank, at in self._names.get(joined(words), ()):
            scores[at] = scores.get(at, 0.0) + JUST_SO * rank
        order = nsmallest(max(0, limit), scores, key=lambda at: (-round(scores[at], 9), self._tools[at].name))
        return Found(tuple(self._tools[at] for at in order), len(scores))

    def _scores(self, words: str) -> dict[int, float]:
        """By tool. Who has more of what was asked goes before who has one word of it often."""
        asked = self._asked(words)
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        for term in asked:
            for at, (score, share) in self._matches(term).items():
                scores[at] = scores.get(at, 0.0) + score
                covered[at] = covered.get(at, 0.0) + share
        return {at: score * (covered[at] / len(asked)) ** 0.8 for at, score in scores.items()}

    def _asked(self, words: str) -> list[str]:
        asked: dict[str, None] = {}
        for whole, parts in asked_terms(words):
            asked |= dict.fromkeys((whole,) if not parts or whole in self._postings else parts)
        telling = [term for term in asked if term not in STOP]
        return (telling or [*asked])[:MOST_ASKED]

    def _matches(self, term: str) -> dict[int, tuple[float, float]]:
        """The tools that one term is found in: what that counts for, and how much of the term it is."""
        best: dict[int, tuple[float, float]] = {}
        likes = [(known, share, self._rarity(known)) for known, share in self._likes(term)]
        # Of several words that may be meant, the rarest is not the likeliest.
        common = min((rarity for _, _, rarity in likes), default=0.0)
        for known, share, rarity in likes:
            worth = share * (rarity if known == term else common) * (SATURATION + 1)
            for at, weight in self._postings[known].items():
                score = worth * weight / (weight + SATURATION)
                if at not in best or score > best[at][0]:
                    best[at] = (score, share)
        return best

    def _rarity(self, known: str) -> float:
        having = len(self._postings[known])
        return log(1 + (len(self._tools) - having + 0.5) / (having + 0.5))

    def _likes(self, term: str) -> Iterator[tuple[str, float]]:
        """The known terms that may be meant, and how surely."""
        exact = term in self._postings
        if exact:
            yield term, 1.0
        yield from ((kin, SAME if same else KIN) for kin, same in kin_of(term).items() if kin in self._postings)
        longer = [*self._longer(term)]
        yield from ((known, PREFIX * (0.5 + 0.5 * len(term) / len(known))) for known in longer)
        if exact or longer:
            return
        shorter = [term[:end] for end in range(LEAST_SHORTER, len(term)) if term[:end] in self._postings]
        if shorter:
            yield shorter[-1], SHORTER
        else:
            yield from ((known, NEAR) for known in self._near(term))

    def _longer(self, term: str) -> Iterator[str]:
        if len(term) < LEAST_PREFIX:
            return
        vocabulary = self._vocabulary
        start = bisect_left(vocabulary, term)
        for known in vocabulary[start : start + MOST_EXPANDED]:
            if not known.startswith(term):
                return
            if known != term:
                yield known

    def _near(self, term: str) -> set[str]:
        if len(term) < LEAST_NEAR or not term.isalpha():
            return set()
        # A word with a slip in it may have lost another ending than the right one.
        tries = {term, term.removesuffix("e")}
        ends = {(place, one[place], len(one) + more) for one in tries for place in (0, -1) for more in (-1, 0, 1)}
        candidates = {known for end in ends for known in self._ends.get(end, ())}
        return {known for known in candidates if any(is_slip(one, known) for one in tries)}

    @cached_property
    def _vocabulary(self) -> list[str]:
        return sorted(self._postings)

    @cached_property
    def _ends(self) -> dict[tuple[int, str, int], list[str]]:
        """Every known word by its first letter, by its last, and its length: who slips once has one of them right."""
        ends: dict[tuple[int, str, int], list[str]] = defaultdict(list)
        for known in self._vocabulary:
            for place in (0, -1):
                ends[place, known[place], len(known)].append(known)
        return ends


def search(tools: Iterable[ToolSpec], words: str, limit: int = USUAL_LIMIT) -> tuple[ToolSpec, ...]:
    """The tools that fit some words, best first. `AgentSession.search` does the same for what that may see."""
    return SearchIndex(tools).find(words, limit).tools


def _by_name(tools: list[ToolSpec]) -> dict[str, list[tuple[int, int]]]:
    """Tools by what they are called, however that is written: by agents, which counts for more, or by their server."""
    names: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at, tool in enumerate(tools):
        exposed, own = joined(tool.name), joined(tool.key.tool)
        names[exposed].append((2, at))
        if own != exposed:
            names[own].append((1, at))
    return names


def is_slip(one: str, other: str) -> bool:
    """Whether one letter was left out, put in, swapped with the next, or, in longer words, is another."""
    start = next((at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right), None)
    if start is None:
        return abs(len(one) - len(other)) == 1
    if len(one) != len(other):
        longer, shorter = (one, other) if len(one) > len(other) else (other, one)
        return longer[start + 1 :] == shorter[start:]
    if one[start + 1 :] == other[start + 1 :]:
        return len(one) >= LEAST_REPLACED
    swapped = one[start + 1 : start + 2] + one[start] + one[start + 2 :]
    return swapped == other[start:]
