"""What comes back: the words of an error, wherever a server puts them, and results rendered for a model."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule import ToolFailure
from bascule.core.outcome import FailureKind
from support.command import bascule
from support.runtime import Events, at_work, bad, good, obeying
from support.scenarios import entry, from_file, write_yaml

TEXT = "the text"


def failed(structured: Any = None, *content: Any) -> dict[str, Any]:
    """A result that is an error, with this structured content beside some text."""
    blocks = [*content] or [{"type": "text", "text": TEXT}]
    return {"isError": True, "content": blocks, **({} if structured is None else {"structuredContent": structured})}


async def failures_of(folder: Path, *results: dict[str, Any]) -> list[ToolFailure]:
    """What a real server's results with `isError` become."""
    async with at_work(obeying(folder / "log")) as session:
        outcomes = [await session.call("work_act", {"result": result}) for result in results]
    return [bad(outcome, FailureKind.TOOL_ERROR) for outcome in outcomes]


WORDS: list[tuple[Any, str]] = [
    ({"message": "m", "error": "e", "detail": "d"}, "m"),
    ({"error": "e", "detail": "d"}, "e"),
    ({"error": {"message": "em", "detail": "ed"}, "detail": "d"}, "em"),
    ({"error": {"reason": "r"}, "detail": "d"}, "d"),
    ({"detail": "d"}, "d"),
    ({"message": "", "error": "", "detail": ""}, TEXT),
    ({"message": 7, "error": [1], "detail": {"x": 1}}, TEXT),
    ({"reason": "elsewhere"}, TEXT),
    ({}, TEXT),
    ([{"message": "in a list"}], TEXT),
    ("only text", TEXT),
    (None, TEXT),
]
SUFFIXES: list[tuple[dict[str, Any], str]] = [
    ({"code": "E_TIMEOUT", "retriable": True}, "(code=E_TIMEOUT retriable=true)"),
    ({"errorCode": 17}, "(code=17)"),
    ({"statusCode": 503, "retryable": 1}, "(code=503 retriable=true)"),
    ({"code": 0}, "(code=0)"),
    ({"code": 1, "errorCode": 2, "statusCode": 3}, "(code=1)"),
    ({"retriable": "false"}, "(retriable=false)"),
    ({"retryable": "YES"}, "(retriable=true)"),
    ({"retriable": 0}, "(retriable=false)"),
    ({"error": {"code": "inner", "retryable": "no"}}, "(code=inner retriable=false)"),
    ({"code": "outer", "error": {"code": "inner", "retriable": True}}, "(code=outer retriable=true)"),
    ({"code": None, "retriable": "perhaps"}, ""),
    ({"code": {"a": 1}, "retriable": [True]}, ""),
]


@pytest.mark.requirement("RES-1")
async def test_the_words_of_an_error_are_found_where_servers_put_them(tmp_path: Path):
    failures = await failures_of(tmp_path, *(failed(structured) for structured, _ in WORDS))

    assert [failure.message for failure in failures] == [words for _, words in WORDS]


@pytest.mark.requirement("RES-1")
async def test_code_and_retriable_follow_in_a_suffix(tmp_path: Path):
    failures = await failures_of(tmp_path, *(failed({"message": "m", **fields}) for fields, _ in SUFFIXES))

    assert [failure.message for failure in failures] == [f"m {suffix}".strip() for _, suffix in SUFFIXES]
    by_fields = [(failure.tool_code, failure.retriable) for failure in failures[:3]]
    assert by_fields == [("E_TIMEOUT", True), (17, None), (503, True)]


@pytest.mark.requirement("RES-1")
async def test_the_suffix_also_follows_the_text(tmp_path: Path):
    (failure,) = await failures_of(tmp_path, failed({"code": 5, "retriable": "1"}))

    assert failure.message == f"{TEXT} (code=5 retriable=true)"


@pytest.mark.requirement("RES-1")
async def test_without_any_words_the_bare_json_is_shown_and_cut(tmp_path: Path):
    image = {"type": "image", "mimeType": "image/png", "data": "A" * 5000}
    short, long, blank = await failures_of(
        tmp_path,
        {"isError": True, "content": []},
        failed(None, image),
        failed({"rows": [1]}, {"type": "text", "text": " \n"}),
    )

    assert json.loads(short.message) == {"isError": True, "content": []}
    assert len(long.message) == 2000
    assert long.message.startswith('{"isError":true')
    assert '"structuredContent":{"rows":[1]}' in blank.message


@pytest.mark.requirement("RES-1")
async def test_several_texts_are_told_together(tmp_path: Path):
    blocks = [{"type": "text", "text": "one"}, {"type": "image", "data": "AA=="}, {"type": "text", "text": "two"}]
    (failure,) = await failures_of(tmp_path, failed(None, *blocks))

    assert failure.message == "one\ntwo"


@pytest.mark.requirement("RES-1")
async def test_the_command_says_the_same_words(tmp_path: Path):
    write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")})
    order = json.dumps({"result": failed({"error": {"message": "no tea", "code": 418}, "retryable": "no"})})
    ran = await bascule(tmp_path, "call", "work_act", "--arguments", order, "--json")

    assert ran.code == 1
    assert ran.json["message"] == "no tea (code=418 retriable=false)"
    assert (ran.json["kind"], ran.json["tool_code"], ran.json["retriable"]) == ("tool_error", 418, False)


@pytest.mark.requirement("RES-2")
@pytest.mark.parametrize("structured", [{"message": "m", "rows": [{"id": 1}], "more": None}, ["a"], "text", 0, False])
async def test_the_whole_structured_content_is_the_cause(tmp_path: Path, structured: Any):
    events = Events()
    async with at_work(obeying(tmp_path / "log"), events=events) as session:
        failure = bad(await session.call("work_act", {"result": failed(structured)}), FailureKind.TOOL_ERROR)

    assert failure.cause == structured
    assert events.call.outcome is failure


STRUCTURED = {"title": "Où?", "rows": [{"id": 1, "name": "a: b"}, {"id": 2, "name": None}], "text": "one\ntwo\n"}
BOTH = {"content": [{"type": "text", "text": "the same in other words"}], "structuredContent": STRUCTURED}


@pytest.mark.requirement("RES-4")
async def test_structured_content_is_shown_once_as_yaml(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        result = good(await session.call("work_act", {"result": BOTH}))

    assert yaml.safe_load(result.text) == STRUCTURED
    assert result.text.startswith("title: Où?\nrows:\n")
    assert "the same in other words" not in result.text
    assert result.structured == STRUCTURED


@pytest.mark.requirement("RES-4")
async def test_json_can_be_chosen_for_a_server(tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log", render="json")})
    async with from_file(path) as session:
        result = good(await session.call("work_act", {"result": BOTH}))

    assert json.loads(result.text) == STRUCTURED


@pytest.mark.requirement("RES-4")
async def test_without_structured_content_the_blocks_are_shown(tmp_path: Path):
    blocks = [
        {"type": "text", "text": "a picture:"},
        {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        {"type": "resource_link", "uri": "file:///a.txt", "name": "a"},
    ]
    async with at_work(obeying(tmp_path / "log")) as session:
        result = good(await session.call("work_act", {"result": {"content": blocks}}))

    assert result.text == "a picture:\n[image image/png, 3 bytes]\n[link file:///a.txt]"
    assert [block.type for block in result.content] == ["text", "image", "resource_link"]
