"""Names of servers, ours and folded ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.names import fold_name, is_name


@pytest.mark.parametrize("name", ["a", "files", "my-server_2", "a" * 32])
def test_names_of_ours(name: str):
    assert is_name(name)
    assert fold_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "1a", "-a", "a b", "a.b", "é", "a" * 33, "a\n", "a\n\n"])
def test_names_that_are_not_ours(name: str):
    assert not is_name(name)


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("Figma MCP", "figma-mcp"),
        ("github.com/upstash/context7", "github-com-upstash-context7"),
        ("@21st-dev/magic", "mcp-21st-dev-magic"),
        ("Käsetheke", "kasetheke"),
        ("_private_", "private"),
        ("A" * 40, "a" * 32),
        ("My  --  Server!", "my-server"),
    ],
)
def test_a_foreign_name_is_folded_to_ours(foreign: str, ours: str):
    assert fold_name(foreign) == ours


def test_names_without_a_latin_letter_are_kept_apart():
    assert fold_name("文件") != fold_name("数据库")


@given(st.text())
def test_every_text_folds_to_a_name(text: str):
    assert is_name(fold_name(text))


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str):
    assert fold_name(fold_name(text)) == fold_name(text)
