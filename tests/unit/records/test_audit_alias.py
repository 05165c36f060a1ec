"""Aliases: the same for the same text, and nothing of the text in them."""

import pytest

from bascule.records.audit_alias import MOST_NAMES, Aliases, short_code

ALIASES = Aliases(b"k" * 32)


def test_an_alias_is_the_same_for_the_same_text_and_key_alone():
    assert ALIASES.of("payroll") == ALIASES.of("payroll") != ALIASES.of("Payroll")
    assert ALIASES.of("payroll") != Aliases(b"o" * 32).of("payroll")
    assert len(ALIASES.of("x" * 10_000)) == 17


def test_what_is_no_text_has_an_alias_too():
    assert ALIASES.of("\ud800").startswith("#")


@pytest.mark.parametrize(
    ("uri", "scheme"),
    [("file:///secret", "file:"), ("HTTP://x", "http:"), ("no scheme", ""), (f"{'x' * 17}://y", ""), ("9x:y", "")],
)
def test_of_a_uri_the_scheme_is_written_and_nothing_else(uri: str, scheme: str):
    assert ALIASES.uri(uri) == f"{scheme}{ALIASES.of(uri)}"


def test_only_what_has_a_name_is_named():
    assert ALIASES.subject("", "write_file") == "write_file"
    assert ALIASES.subject("", "x" * 500) == "x" * 128
    assert ALIASES.subject("prompts/get", "greet") == "greet"
    assert ALIASES.subject("resources/list", "resources") == "resources"
    assert ALIASES.subject("resources/read", "note://a") == ALIASES.uri("note://a")
    assert ALIASES.subject("completion/complete", "greet") == ALIASES.of("greet")


def test_names_of_arguments_that_are_no_names_have_an_alias():
    shapes = {"path": "string[4]", "my password is x": "null", "k" * 65: "number"}
    written = ALIASES.shapes(shapes)

    assert written == {"path": "string[4]", ALIASES.of("my password is x"): "null", ALIASES.of("k" * 65): "number"}
    assert ALIASES.shapes(shapes) == written
    assert ALIASES.shapes({"path": "null"}) == {"path": "null"}


def test_names_that_callers_make_up_do_not_fill_the_memory():
    aliases = Aliases(b"k" * 32)
    for number in range(MOST_NAMES + 10):
        aliases.shapes({f"name{number}": "null"})

    assert len(aliases._names) == MOST_NAMES
    assert aliases.shapes({"another": "null"}) == {"another": "null"}


def test_where_nobody_has_looked_at_the_names_none_is_written():
    assert ALIASES.nameless({"path": "null"}) == {ALIASES.of("path"): "null"}


@pytest.mark.parametrize("code", [7, -32000, 1.5, "NOT_FOUND", "E404", "not-found", "a.b.c"])
def test_a_code_that_is_a_number_or_a_short_word_is_written(code: object):
    assert short_code(code) == code


@pytest.mark.parametrize("code", [None, "", "two words", "x" * 33, "sk-7f3a9b2c1d", "/etc/passwd", "12345678", []])
def test_any_other_code_is_not(code: object):
    assert short_code(code) is None
