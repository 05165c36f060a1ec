"""Token estimate for tool definitions in a model's context, without a model's tokenizer. Pure: counted from the
text."""

import re
from collections.abc import Iterable

import msgspec

from bascule.core.tool import ToolSpec

METHOD = (
    "estimated from the letters alone: one token for a word of up to 10 letters, 3 digits, 4 signs, or 2 characters of "
    "another script; models count differently"
)

_PIECE = re.compile(r"[A-Za-z]{1,10}|[0-9]{1,3}|[^\x00-\x7f]{1,2}|[^A-Za-z0-9\s\x80-\U0010ffff]{1,4}")
"""What is a token, more or less. Spaces belong to the word behind them."""


def estimated_tokens(text: str) -> int:
    return sum(1 for _ in _PIECE.finditer(text))


def tokens_of(spec: ToolSpec) -> int:
    """Of one tool as a model is told of it: its name, what it does, and the schema of its arguments."""
    told = {"name": spec.name, "description": spec.description, "input_schema": spec.plain_schema}
    return estimated_tokens(msgspec.json.encode(told).decode())


def tokens_of_all(specs: Iterable[ToolSpec]) -> int:
    return sum(map(tokens_of, specs))
