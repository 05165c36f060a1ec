"""Variables in config texts, and the `.env` file beside a config."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.variables import HOLE, MAX_DOTENV, FromVariable, Missing, fill, fill_text, read_dotenv

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
values = st.text(alphabet=st.characters(blacklist_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${A}", "1"),
        ("${env:A}", "1"),
        ("${A:-x}", "1"),
        ("${B:-x}", "x"),
        ("${env:B:-x}", "x"),
        ("${B:-}", ""),
        ("${B:-a b:c-d}", "a b:c-d"),
        ("Bearer ${A}${A}", "Bearer 11"),
        ("$$", "$"),
        ("$${A}", "${A}"),
        ("$$${A}", "$1"),
        ("$A", "$A"),
        ("a$", "a$"),
        ("{A}", "{A}"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("", ""),
    ],
)
def test_a_text_is_filled(text: str, filled: str):
    result = fill_text(text, {"A": "1", "EMPTY": ""})

    assert (result.text, result.missing) == (filled, ())


def test_an_unset_variable_is_named():
    (missing,) = fill_text("x${NOPE}y", {}, ("a", "b")).missing

    assert missing.path == ("a", "b")
    assert "NOPE is not set" in missing.told
    assert "NOPE" in missing.fix


def test_every_unset_variable_is_named():
    assert len(fill_text("${A} ${B} ${C:-c}", {}).missing) == 2


def test_what_an_editor_would_ask_for_counts_as_unset():
    (missing,) = fill_text("${input:api-key}", {"input": "x", "api": "y"}).missing

    assert "input:api-key" in missing.told
    assert "not set" in missing.told


@pytest.mark.parametrize(
    "text", ["${", "${A", "${}", "${1A}", "${A-B}", "${A:+x}", "${B:-${A}}", "${ A }", "${command:x}", "${A:}"]
)
def test_what_cannot_be_read_as_a_variable_is_not_passed_on(text: str):
    assert len(fill_text(text, {"A": "1"}).missing) == 1


def test_a_text_that_names_no_variable_is_not_repeated():
    (missing,) = fill_text("pass${hunter2 word", {}).missing

    assert "hunter2" not in missing.told + missing.fix


@given(names, values)
def test_what_is_put_in_is_never_looked_at_again(name: str, value: str):
    environ = {name: value, "OTHER": "never"}

    assert fill_text(f"${{{name}}}", environ).text == value
    assert fill_text("${X}", {"X": "${OTHER} $$ ${X}", "OTHER": "never"}).text == "${OTHER} $$ ${X}"


@given(values)
def test_a_text_with_its_dollars_doubled_stays_what_it_was(text: str):
    assert fill_text(text.replace("$", "$$"), {}).text == text


@given(values)
def test_filling_never_fails_and_never_invents(text: str):
    result = fill_text(text, {})

    if "$" not in text:
        assert result.text == text


def test_texts_are_filled_in_lists_and_mappings_but_not_in_keys():
    missing: list[Missing] = []
    tree: Any = {"${A}": ["${A}", {"k": "${A}", "n": 5, "z": None}], "t": True}

    assert fill(tree, {"A": "1"}, (), missing) == {"${A}": ["1", {"k": "1", "n": 5, "z": None}], "t": True}
    assert missing == []


def test_a_text_that_cannot_be_completed_leaves_a_hole_and_its_path():
    missing: list[Missing] = []

    assert fill({"env": {"A": "${NOPE}", "B": "b"}}, {}, ("s",), missing) == {"env": {"A": HOLE, "B": "b"}}
    assert [each.path for each in missing] == [("s", "env", "A")]
    assert fill(["a", "${NOPE}"], {}, (), missing) == ["a", HOLE]
    assert missing[-1].path == (1,)


def test_a_filled_text_knows_the_names_of_its_variables():
    filled = fill("--x=${A}${B:-b}", {"A": "1"}, (), [])

    assert type(filled) is FromVariable
    assert filled.names == ("A", "B")
    assert type(fill("$$x", {}, (), [])) is str


def read(tmp_path: Path, data: str | bytes) -> tuple[dict[str, str], tuple[str, ...]]:
    path = tmp_path / ".env"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_dotenv(path)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A=1", "1"),
        ("A = 1 ", "1"),
        ("A=", ""),
        ("A=1 # a comment", "1"),
        ("A=# a comment", ""),
        ("A=a#b", "a#b"),
        ('A="a # b"  # c', "a # b"),
        ('A="a\\nb\\"c"', 'a\nb"c'),
        ("A='a\\nb'", "a\\nb"),
        ("A=a=b", "a=b"),
        ("A=${B}", "${B}"),
        ('A="unfinished', '"unfinished'),
    ],
)
def test_a_line_is_read(tmp_path: Path, line: str, value: str):
    assert read(tmp_path, line) == ({"A": value}, ())


def test_comments_and_blank_lines_are_passed_over(tmp_path: Path):
    assert read(tmp_path, "\ufeff# x\n\n  \nA=1\r\nB=2\n") == ({"A": "1", "B": "2"}, ())


def test_a_line_that_is_no_variable_is_noted_but_not_repeated(tmp_path: Path):
    values, notes = read(tmp_path, "A=1\nhunter2\n")

    assert values == {"A": "1"}
    assert len(notes) == 1
    assert ".env:2" in notes[0]
    assert "hunter2" not in notes[0]


def test_no_file_is_no_variables(tmp_path: Path):
    assert read_dotenv(tmp_path / ".env") == ({}, ())


@pytest.mark.parametrize("data", [b"A=\xff", b"A=" + b"x" * MAX_DOTENV])
def test_a_file_that_cannot_be_read_gives_nothing_but_a_note(tmp_path: Path, data: bytes):
    values, notes = read(tmp_path, data)

    assert values == {}
    assert len(notes) == 1


def test_a_folder_of_that_name_is_noted(tmp_path: Path):
    (tmp_path / ".env").mkdir()

    assert len(read_dotenv(tmp_path / ".env")[1]) == 1
