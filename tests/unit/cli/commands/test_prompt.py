"""`bascule prompt`."""

from pathlib import Path

import pytest

from bascule.cli.commands.prompt import as_shape, read_pairs
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import UsageError
from bascule.core.outcome import FailureKind, PromptResult, ToolFailure
from bascule.core.sensitivity import Lane
from support.command import bascule, configured
from support.offers import command_of, offering


def test_every_value_is_text():
    assert read_pairs(["a=x=y", "b=", "c=3"]) == {"a": "x=y", "b": "", "c": "3"}


@pytest.mark.parametrize("pair", ["a", "=1", ""])
def test_what_is_no_pair_is_a_usage_error(pair: str):
    with pytest.raises(UsageError, match="is not KEY=VALUE"):
        read_pairs([pair])


def test_a_result_has_its_documented_shape():
    messages = [{"role": "user", "content": {"type": "text", "text": "Hi."}}]
    raw = {"messages": messages, "description": "Greets."}
    assert as_shape(PromptResult(raw, "files", "greet", Lane.OPEN, {"send": 0.5})) == {
        "ok": True,
        "text": "user: Hi.",
        "description": "Greets.",
        "messages": messages,
        "server": "files",
        "prompt": "greet",
        "lane": "open",
        "ms": 500.0,
        "steps": {"send": 500.0},
    }
    assert as_shape(ToolFailure(FailureKind.DENIED, "BSC-300", "no")).get("kind") == "denied"


async def test_a_prompt_is_filled_in_by_the_command(tmp_path: Path):
    greet = {"name": "greet", "arguments": [{"name": "who", "required": True}]}
    file = configured(tmp_path, work=command_of(offering(tmp_path, prompts=(greet,))))
    ran = await bascule(tmp_path, "prompt", "work_greet", "who=Ada", "--config", file)
    assert (ran.code, ran.out) == (0, "user: Hi.\n")
    missing = await bascule(tmp_path, "prompt", "work_greet", "--json", "--config", file)
    assert (missing.code, missing.json["kind"]) == (2, "invalid_arguments")


def test_a_prompt_takes_texts():
    assert build_parser().parse_args(["prompt", "sum", "style=short"]).arguments == ["style=short"]
