"""Search over servers, agent sessions, tools and calls: words that must occur, and filters that name a field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

import msgspec

LONGEST_QUERY = 200
"""Characters of a search."""

MOST_WORDS = 8

MOST_FOUND = 100
"""Of each kind."""

FIELDS = ("server", "tool", "user", "session", "outcome", "code", "lane", "rule")

Row = TypeVar("Row")
Texts = Mapping[str, str]
"""What there is to search of a row, by field."""


class Query(msgspec.Struct, frozen=True):
    """What was asked for, in lower case."""

    words: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def fits(self, texts: Texts) -> bool:
        """Whether a row is meant. One that has no such field is not."""
        return all(value in texts[field].lower() if field in texts else False for field, value in self.filters) and all(
            any(word in text.lower() for text in texts.values()) for word in self.words
        )


def query_of(text: str) -> Query:
    """What a person typed. Where that cannot be meant, the problem is said, and nothing is found."""
    parts = text[:LONGEST_QUERY].lower().split()[:MOST_WORDS]
    words: list[str] = []
    filters: list[tuple[str, str]] = []
    for part in parts:
        field, colon, value = part.partition(":")
        if colon and field in FIELDS:
            filters.append((field, value))
        elif colon and field.isalpha() and value:
            return Query(problem=f"there is no field {field!r}; the fields are {', '.join(FIELDS)}")
        else:
            words.append(part)
    return Query(tuple(words), tuple(filters))


def found(rows: Iterable[Row], query: Query, texts: Callable[[Row], Texts]) -> tuple[tuple[Row, ...], bool]:
    """The first that fit, and whether there are more."""
    if query.problem or not (query.words or query.filters):
        return (), False
    fitting: Iterator[Row] = (row for row in rows if query.fits(texts(row)))
    kept = tuple(islice(fitting, MOST_FOUND))
    return kept, next(fitting, None) is not None
