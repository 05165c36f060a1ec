"""Searchable fields of a tool, and the weight of a word in each."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from bascule.catalog.search.tokenizer import STOP, terms_of
from bascule.core.json_types import as_array, as_object, as_text
from bascule.core.tool import ToolSpec

MOST_TEXT = 4000
"""Letters of one text that count. A server that writes a book must not fill memory with its words."""

MOST_ARGUMENTS = 60
DEEPEST = 3
"""Arguments of a tool that count, and how far inside one another."""

Posting = dict[int, float]
"""Tools by their places, and what a term weighs in each."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One kind of text."""

    weight: float
    evening: float
    """How far a long text is evened out with a short one: 0, every word counts the same; 1, only its share does."""
    prose: bool = False
    name: bool = False


OWN_NAME = Field(5.0, 0.4, name=True)
EXPOSED_NAME = Field(1.0, 0.4)
TITLE = Field(3.0, 0.4)
SERVER = Field(1.5, 0.0)
DESCRIPTION = Field(1.2, 0.6, prose=True)
ARGUMENTS = Field(1.0, 0.7)
ARGUMENT_TEXTS = Field(0.4, 0.7, prose=True)

FIELDS = (OWN_NAME, EXPOSED_NAME, TITLE, SERVER, DESCRIPTION, ARGUMENTS, ARGUMENT_TEXTS)


def texts_of(tool: ToolSpec) -> Iterator[tuple[Field, str]]:
    """Every text that a tool is found by."""
    yield OWN_NAME, tool.key.tool
    yield EXPOSED_NAME, tool.name
    yield TITLE, tool.title or as_text(tool.annotations.get("title")) or ""
    yield SERVER, tool.key.server
    yield DESCRIPTION, tool.description
    arguments = [*islice(_arguments(tool.input_schema), MOST_ARGUMENTS)]
    yield ARGUMENTS, " ".join(name for name, _ in arguments)
    yield ARGUMENT_TEXTS, " ".join(text for _, text in arguments)


def postings_of(tools: Sequence[ToolSpec]) -> dict[str, Posting]:
    """For each term the tools it stands in, and what it weighs there: over all fields, each by its own length."""
    taken = [[(field, _terms(field, text)) for field, text in texts_of(tool) if text] for tool in tools]
    usual = _usual(taken)
    postings: defaultdict[str, Posting] = defaultdict(dict)
    for at, fields in enumerate(taken):
        for field, terms in fields:
            share = field.weight / (1 - field.evening + field.evening * len(terms) / usual[field])
            for term in terms:
                posting = postings[term]
                posting[at] = posting.get(at, 0.0) + share
    return dict(postings)


def _terms(field: Field, text: str) -> list[str]:
    terms = terms_of(text[:MOST_TEXT])
    if field.prose:
        return [term for term in terms if term not in STOP]
    # `readfile` is how somebody may write what is called read_file.
    return [*terms, *(left + right for left, right in pairwise(terms))] if field.name else terms


def _usual(taken: Sequence[Sequence[tuple[Field, list[str]]]]) -> dict[Field, float]:
    """How long each kind of text is, over all tools."""
    sums = dict.fromkeys(FIELDS, 0)
    for fields in taken:
        for field, terms in fields:
            sums[field] += len(terms)
    return {field: max(1.0, total / max(1, len(taken))) for field, total in sums.items()}


def _arguments(schema: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """The arguments that a schema names, each with what is said of it; those inside of others too."""
    for name, given in as_object(schema.get("properties")).items():
        argument = as_object(given)
        yield name, as_text(argument.get("description")) or ""
        if depth < DEEPEST:
            for inner in (argument, as_object(argument.get("items")), *map(as_object, as_array(argument.get("anyOf")))):
                yield from _arguments(inner, depth + 1)
