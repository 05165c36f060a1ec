"""What tools cost in a model's context."""

import pytest

from bascule.catalog.search.meta_tools import search_pair
from bascule.catalog.search.token_estimate import estimated_tokens, tokens_of, tokens_of_all
from bascule.core.tool import ToolKey, ToolSpec


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("", 0),
        ("The quick brown fox jumps over the lazy dog and then reads a file from disk.", 17),
        ('{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}', 18),
        ("検索するファイルを読み取る", 8),
    ],
)
def test_it_comes_near_to_what_a_tokenizer_counts(text: str, counted: int):
    """The numbers are those of o200k_base, a tokenizer in wide use."""
    assert abs(estimated_tokens(text) - counted) <= max(1, 0.15 * counted)


def test_a_tool_costs_its_name_its_description_and_its_schema():
    small = ToolSpec("work_act", ToolKey("work", "act"), "sha256:0")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    large = ToolSpec("work_act", ToolKey("work", "act"), "sha256:0", "Does as it is told.", input_schema=schema)

    assert 0 < tokens_of(small) < tokens_of(large)
    assert tokens_of_all([small, large]) == tokens_of(small) + tokens_of(large)


def test_the_pair_is_small():
    assert tokens_of_all(entry.spec for entry in search_pair(("files", "github"))) < 400
