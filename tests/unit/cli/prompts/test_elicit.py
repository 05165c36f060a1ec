"""A person at the terminal."""

import io
from typing import Any

import pytest

from bascule.cli.prompts.elicit import Person, person_at_the_terminal
from bascule.core.client_features import Accept, Cancel, Decline, Elicitation
from support.links import ALICE

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "default": 36},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}


class Terminal(io.StringIO):
    """Text that comes from, or goes to, a terminal."""

    def isatty(self) -> bool:
        return True


def answered(typed: str, **question: Any) -> tuple[Any, str]:
    writing = Terminal()
    terms: dict[str, Any] = {"message": "Who?", "schema": SCHEMA, **question}
    asked = Elicitation("work", ALICE, **terms)
    return Person(Terminal(typed), writing)(asked), writing.getvalue()


@pytest.mark.parametrize("streams", [(io.StringIO(), Terminal()), (Terminal(), io.StringIO())])
def test_where_nobody_sits_nobody_answers(streams: tuple[io.StringIO, io.StringIO]):
    assert person_at_the_terminal(*streams) is None


def test_a_form_is_filled_in_field_by_field():
    answer, shown = answered("y\nAda\n\nyes\nred, blue\n")
    assert answer == Accept({"name": "Ada", "sure": True, "tags": ["red", "blue"]})
    assert "work asks: Who?" in shown
    assert "age (integer) [36]:" in shown


def test_numbers_are_read_as_such_and_what_is_none_is_left_to_be_refused():
    assert answered("yes\nAda\n37\n\n\n")[0] == Accept({"name": "Ada", "age": 37})
    assert answered("yes\nAda\nold\n\n\n")[0] == Accept({"name": "Ada", "age": "old"})


@pytest.mark.parametrize("typed", ["n\n", "\n", ""])
def test_nothing_is_told_without_a_yes(typed: str):
    assert answered(typed)[0] == Decline()


def test_the_end_of_input_is_no_answer():
    assert answered("y\nAda\n")[0] == Cancel()


@pytest.mark.parametrize(("typed", "answer"), [("y\n", Accept()), ("n\n", Decline())])
def test_an_address_is_shown_and_never_opened(typed: str, answer: Any):
    given, shown = answered(typed, mode="url", url="https://example.test/in")
    assert given == answer
    assert "https://example.test/in" in shown


def test_the_servers_words_cannot_move_the_cursor():
    assert "\x1b" not in answered("n\n", message="\x1b[2Jtype your password")[1]
