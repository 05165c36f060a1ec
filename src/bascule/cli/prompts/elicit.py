"""Elicitation on the terminal: a person answers the questions of a server. Without a terminal, servers are not offered
the capability."""

from collections.abc import Iterator
from typing import Any, TextIO

import msgspec

from bascule.catalog.signature import type_name
from bascule.cli.output.errors import legible
from bascule.cli.output.progress import asking
from bascule.core.client_features import Accept, Cancel, Decline, ElicitAnswer, Elicitation, OnElicit
from bascule.core.json_types import as_array, as_object, as_text

YES = frozenset({"y", "yes"})


def person_at_the_terminal(reading: TextIO, writing: TextIO) -> OnElicit | None:
    """Who answers, or None where input or output is not a terminal."""
    return Person(reading, writing) if reading.isatty() and writing.isatty() else None


class Person:
    """Asks on one stream and reads from another. The server's words are shown as such, and can move no cursor."""

    def __init__(self, reading: TextIO, writing: TextIO) -> None:
        self._reading = reading
        self._writing = writing

    def __call__(self, question: Elicitation) -> ElicitAnswer:
        with asking():
            return self._answer(question)

    def _answer(self, question: Elicitation) -> ElicitAnswer:
        self._say(f"\n{question.server} asks: {question.message}\n")
        if question.mode == "url":
            return self._go(question.url)
        if not self._agrees("Answer it?"):
            return Decline()
        content: dict[str, Any] = {}
        for name, field, required in _fields(question):
            given = self._ask(f"  {name} ({type_name(field)}){_default(field)}: ")
            if given is None:
                return Cancel()
            if given or (required and "default" not in field):
                content[name] = _typed(given, field)
        return Accept(content)

    def _go(self, url: str) -> ElicitAnswer:
        self._say(f"  it wants you to open {url}\n")
        return Accept() if self._agrees("Will you?") else Decline()

    def _agrees(self, words: str) -> bool:
        return (self._ask(f"{words} [y/N] ") or "").lower() in YES

    def _ask(self, words: str) -> str | None:
        """One line, or nothing at the end of all input."""
        self._say(words)
        line = self._reading.readline()
        return line.strip() if line else None

    def _say(self, words: str) -> None:
        self._writing.write(legible(words))
        self._writing.flush()


def _fields(question: Elicitation) -> Iterator[tuple[str, dict[str, Any], bool]]:
    required = as_array(question.schema.get("required"))
    for name, field in as_object(question.schema.get("properties")).items():
        yield name, as_object(field), name in required


def _default(field: dict[str, Any]) -> str:
    return f" [{msgspec.json.encode(field['default']).decode()}]" if "default" in field else ""


def _typed(given: str, field: dict[str, Any]) -> Any:
    """What was typed as what the schema wants. Where it cannot be read so, it stays text and is found not to fit."""
    if as_text(field.get("type")) in {None, "string"}:
        return given
    word = {"y": "true", "yes": "true", "n": "false", "no": "false"}.get(given.lower(), given)
    try:
        return msgspec.json.decode(word if field.get("type") == "boolean" else given)
    except msgspec.DecodeError:
        return [part.strip() for part in given.split(",")] if field.get("type") == "array" else given
