"""`bascule list --tokens`: what each way of giving tools to a model costs its context."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.command import bascule, configured, entry
from support.runtime import a_tool

TOOLS = [a_tool(f"read_{at}", description=f"Reads shelf {at}, and gives what lies on it. " * 20) for at in range(20)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    configured(tmp_path, work=entry("obeying", tmp_path / "log", json.dumps(TOOLS)))
    return tmp_path


@pytest.mark.requirement("CAT-8")
async def test_the_tokens_of_each_tool_of_all_and_of_the_pair_are_told_as_an_estimate(folder: Path):
    shown = await bascule(folder, "list", "--tokens")
    told = (await bascule(folder, "list", "--tokens", "--json")).json

    tokens = told["tokens"]
    assert tokens["estimated"] is True
    assert tokens["all_tools"] == sum(tool["tokens"] for tool in told["tools"]) == told["servers"][0]["tokens"]
    assert 0 < tokens["search_pair"] < tokens["all_tools"]
    assert f"{tokens['all_tools']:,}" in shown.out
    assert "tokens, estimated" in shown.out
    assert tokens["method"] in shown.out


@pytest.mark.requirement("CAT-8", "UX-2")
async def test_without_the_flag_nothing_is_added_to_the_shape(folder: Path):
    plain: Any = (await bascule(folder, "list", "--json")).json

    assert plain.keys() == {"servers", "tools"}
    assert "tokens" not in plain["tools"][0]
    assert "tokens" not in plain["servers"][0]
