"""Aliases: the same for the same text, and nothing of the text in them."""

import pytest

from bascule.core.tool import ToolKey, ToolSpec
from bascule.records.audit.pseudonyms import MOST_NAMES, Aliases, short_code

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


def tool(*names: str) -> ToolSpec:
    return ToolSpec("x", ToolKey("files", "x"), "", input_schema={"properties": {name: {} for name in names}})


def test_arguments_have_the_names_that_their_tool_declares_and_no_others():
    aliases = Aliases(b"k" * 32)
    shapes = {"path": "string[4]", "my-password-is-x": "null"}
    written = aliases.shapes(shapes, tool("path", "other"))

    assert written == {"path": "string[4]", aliases.of("my-password-is-x"): "null"}
    # Once it is known that a tool has an argument of that name, nobody has to look again.
    assert aliases.shapes(shapes) == written
    assert aliases.shapes({"path": "null"}) == {"path": "null"}
    assert aliases.shapes({"other": "null"}) == {aliases.of("other"): "null"}


def test_what_a_server_declares_and_is_no_name_has_an_alias_too():
    odd = "a name\nof two lines"

    assert ALIASES.shapes({odd: "null", "k" * 65: "null"}, tool(odd, "k" * 65)) == {
        ALIASES.of(odd): "null",
        ALIASES.of("k" * 65): "null",
    }
    for spec in (None, ToolSpec("x", ToolKey("a", "b"), "", input_schema={"properties": ["path2"]})):
        assert ALIASES.shapes({"path2": "null"}, spec) == {ALIASES.of("path2"): "null"}


def test_names_that_servers_make_up_do_not_fill_the_memory():
    aliases = Aliases(b"k" * 32)
    for number in range(MOST_NAMES + 10):
        aliases.shapes({f"name{number}": "null"}, tool(f"name{number}"))

    assert len(aliases._names) == MOST_NAMES
    assert aliases.shapes({"another": "null"}, tool("another")) == {"another": "null"}


@pytest.mark.parametrize("code", [7, -32000, 1.5, "NOT_FOUND", "E404", "not-found", "a.b.c"])
def test_a_code_that_is_a_number_or_a_short_word_is_written(code: object):
    assert short_code(code) == code


@pytest.mark.parametrize("code", [None, "", "two words", "x" * 33, "sk-7f3a9b2c1d", "/etc/passwd", "12345678", []])
def test_any_other_code_is_not(code: object):
    assert short_code(code) is None
