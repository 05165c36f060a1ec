"""Config files read as documents, and JSON with comments and trailing commas."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.loading.document import MAX_FILE, parse_json, read_document
from bascule.config.problems import Problems
from bascule.core.errors import ConfigError


def refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read_document(path)
    return caught.value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "x: [y]"),
        ("a.YML", "x: [y]"),
        ("a.json", '{"x": ["y"],}'),
        ("mcp.jsonc", '// c\n{"x": ["y"]}'),
        ("noending", '  {"x": ["y"]}'),
        ("noending", "x: [y]"),
        ("noending", '// c\n{"x": ["y"]}'),
    ],
)
def test_the_format_is_told_by_ending_or_content(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert read_document(tmp_path / name).root == {"x": ["y"]}


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_byte_order_mark_is_tolerated(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b'\xef\xbb\xbf{"a": 1}')

    assert read_document(tmp_path / name).root == {"a": 1}


def test_a_missing_file_is_told_with_a_way_out(tmp_path: Path):
    error = refused(tmp_path / "bascule.yaml")

    assert "does not exist" in str(error)
    assert "--config" in error.fix


def test_a_folder_is_no_file(tmp_path: Path):
    assert refused(tmp_path).fix == "name a file, not a folder"


def test_what_cannot_be_opened_is_told(tmp_path: Path):
    (tmp_path / "file").touch()

    error = refused(tmp_path / "file" / "bascule.yaml")
    assert "cannot be read" in str(error)
    assert "ls -l" in error.fix


@pytest.mark.parametrize("data", [b"a: 1\nb: \xff", "a: 1\n".encode("utf-16")])
def test_a_file_that_is_not_utf8_is_told(tmp_path: Path, data: bytes):
    path = tmp_path / "a.yaml"
    path.write_bytes(data)

    error = refused(path)
    assert "not UTF-8" in str(error)
    assert "UTF-8" in error.fix


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff")

    assert refused(path).where.endswith("a.yaml:2")


def test_a_huge_file_is_not_read(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(b" " * (MAX_FILE + 1))

    assert "larger than" in str(refused(path))


def parsed_json(text: str) -> tuple[Any, list[str]]:
    problems = Problems("f.json")
    return parse_json(text, problems), [problem.told for problem in problems.found]


def refused_json(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parsed_json(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, "b", null, true]}', {"a": [1, "b", None, True]}),
        ('{"a": 1, // one\n "b": 2 /* two\n lines */}', {"a": 1, "b": 2}),
        ('{"a": [1, 2, ], }', {"a": [1, 2]}),
        ('{"a": 1, // last\n}', {"a": 1}),
        ('{"url": "https://a.test/*x*/,]"}', {"url": "https://a.test/*x*/,]"}),
        ('{"a": "\\"//\\\\"}', {"a": '"//\\'}),
        ('// first\n{"a": ",}"}', {"a": ",}"}),
    ],
)
def test_comments_and_trailing_commas_are_forgiven(text: str, value: Any):
    assert parsed_json(text) == (value, [])


def test_a_doubled_key_is_a_problem_with_its_path():
    _, told = parsed_json('{"a": {"b": 1, "c": [{"d": 1, "d": 2}], "b": 2}}')

    assert told == [
        "f.json: a.c[0].d: stands twice; keep one of them",
        "f.json: a.b: stands twice; keep one of them",
    ]


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": }', '{"a" 1}', '"unfinished', "{'a': 1}", "[1,,2]", "/* never ends", "{} {}"]
)
def test_what_is_not_json_is_refused(text: str):
    assert "not JSON" in str(refused_json(text))


def test_a_syntax_error_names_its_line_behind_comments_too_and_shows_no_text():
    error = refused_json('{\n/* two\nlines */ "a": "hunter2" "b"\n}')

    assert error.where == "f.json:3"
    assert "hunter2" not in str(error) + error.evidence


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": ' + "9" * 5000 + "}"])
def test_numbers_that_json_does_not_have_are_refused(text: str):
    assert "number" in str(refused_json(text))


@pytest.mark.parametrize("depth", [200, 100_000])
def test_nesting_is_bounded(depth: int):
    assert "nests deeper" in str(refused_json("[" * depth + "]" * depth))


def test_half_a_character_is_no_text():
    assert len(parsed_json('{"a": "\\ud800"}')[1]) == 1


@pytest.mark.parametrize("text", ['"' * 99_999, "/*" * 50_000, '"\\' * 50_000, "," * 99_999])
def test_hostile_texts_are_answered(text: str):
    refused_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='ab/*,"\\]}\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='ab/*"', max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(json_values)
def test_plain_json_is_read_as_any_reader_reads_it(value: Any):
    assert parsed_json(json.dumps(value)) == (value, [])
