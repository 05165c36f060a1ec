import asyncio
import logging
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from fastmcp.exceptions import NotFoundError, ToolError, ValidationError
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp_types import InputRequiredResult
from pydantic import TypeAdapter

from bascule.core.errors import NotIdentified, PathRefused, Refused, UsageError
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity
from bascule.kit import PrivateData, ToolFatalError, ToolRetryError, get_user_id
from bascule.kit.admission import Admission
from bascule.kit.governed_tool import RETRY_KEY, GovernedTool, failed, fatal, refused, retryable
from bascule.kit.levels.files import KeptLevels
from bascule.kit.permission import PERMISSIONS_KEY
from bascule.kit.request_context import Home
from bascule.sensitivity.private_data import LABELS_KEY
from bascule.wire.results import FATAL_KEY, PREFIX
from support.kit import ALICE, CONNECT, READ, labels_of, text_of

PRIVATE = "Jane Roe, 1961-04-02"


@pytest.fixture
def home(tmp_path: Path) -> Generator[Home]:
    made = Home("records", folder=tmp_path)
    yield made
    made.close()


def governed(home: Home, function: Any, *permissions: Permission, **options: Any) -> GovernedTool:
    tool = function if isinstance(function, Tool) else Tool.from_function(function, name="tool", **options)
    return GovernedTool.of(tool, frozenset(permissions or (READ,)), Admission(home.levels, {}))


async def result_of(home: Home, function: Any, *permissions: Permission, **arguments: Any) -> ToolResult:
    with home.course_of(ALICE):
        return await governed(home, function, *permissions)._run(arguments)


def see(level: DataSensitivity = DataSensitivity.CONFIDENTIAL) -> None:
    PrivateData().add_private_dataset("patients", level)


def test_it_looks_like_the_tool_in_it_and_says_what_it_does(home: Home) -> None:
    def tool(city: str) -> int:
        """Counts."""
        return len(city)

    plain = Tool.from_function(tool, tags={"a"}, meta={"mine": 1}, timeout=3, title="Count")
    shown = governed(home, plain, READ, CONNECT).to_mcp_tool()

    assert shown.meta is not None
    assert shown.meta.pop(PERMISSIONS_KEY) == ["connect", "read"]
    assert shown == plain.to_mcp_tool()
    assert plain.meta == {"mine": 1}


async def test_it_does_what_the_tool_in_it_does(home: Home) -> None:
    result = await result_of(home, lambda city: len(city), city="Rome")  # noqa: PLW0108 -- its argument has a name

    assert (text_of(result), labels_of(result)) == ("4", None)


async def test_what_is_refused_does_not_begin(home: Home) -> None:
    begun: list[str] = []
    with home.course_of(ALICE):
        see()

    result = await result_of(home, lambda: begun.append("sent"), CONNECT)

    assert result.is_error
    assert "CONFIDENTIAL" in text_of(result)
    assert not begun
    assert labels_of(result) == ["confidential"]


async def test_why_a_level_cannot_be_told_is_in_the_log_and_not_in_the_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home("records", folder=tmp_path)
    assert isinstance(home.levels, KeptLevels)
    home.levels._folder.mkdir(parents=True)
    (home.levels._folder / "bascule.db").write_bytes(b"no database at all" * 100)
    begun: list[str] = []

    with caplog.at_level(logging.ERROR):
        result = await result_of(home, lambda: begun.append("read"), READ)

    assert (result.is_error, begun) == (True, [])
    assert str(tmp_path) not in text_of(result)
    assert str(tmp_path) in caplog.text
    # Nobody may take it for clean.
    assert labels_of(result) == ["secret"]
    home.close()


async def seen_in_a_subtask() -> None:
    await asyncio.create_task(asyncio.to_thread(see))


async def seen_in_the_loop() -> None:
    see()


@pytest.mark.parametrize("tool", [see, seen_in_the_loop, seen_in_a_subtask])
async def test_what_it_has_seen_is_on_its_result_and_on_every_later_one(home: Home, tool: Any) -> None:
    def plain() -> None: ...

    assert labels_of(await result_of(home, plain)) is None
    # With its defaults, so without arguments.
    assert labels_of(await result_of(home, tool)) == ["confidential"]
    assert labels_of(await result_of(home, plain)) == ["confidential"]


async def test_labels_stand_beside_the_meta_that_a_tool_gives(home: Home) -> None:
    def tool() -> ToolResult:
        see()
        return ToolResult(content="x", meta={"mine": 1, LABELS_KEY: ["public"]})

    assert (await result_of(home, tool)).meta == {"mine": 1, LABELS_KEY: ["confidential"]}


async def test_a_question_to_the_client_is_labelled_too(home: Home) -> None:
    def tool() -> InputRequiredResult:
        see()
        return InputRequiredResult(request_state="so far")

    result = await result_of(home, tool)

    assert isinstance(result, InputRequiredToolResult)
    assert result.input_required.meta == {LABELS_KEY: ["confidential"]}
    assert result.input_required.request_state == "so far"


@pytest.mark.parametrize(
    ("error", "words", "meta"),
    [
        (ToolRetryError("no such city", code="E7"), "no such city", {RETRY_KEY: True}),
        (ToolFatalError("no licence"), "[FATAL] no licence", {FATAL_KEY: True}),
        (UsageError("what?", fix="that"), "what?; that", {RETRY_KEY: True}),
        (UsageError("what?"), "what?", {RETRY_KEY: True}),
        (PathRefused("out of it"), "out of it", {RETRY_KEY: True}),
        (ToolError("the author's words"), "the author's words", None),
    ],
)
async def test_what_a_tool_means_to_say_is_said(home: Home, error: Exception, words: str, meta: Any) -> None:
    def tool() -> None:
        raise error

    result = await result_of(home, tool)

    assert (result.is_error, text_of(result), result.meta) == (True, words, meta)


async def test_an_error_after_private_data_was_seen_is_labelled(home: Home) -> None:
    def tool() -> None:
        see(DataSensitivity.SECRET)
        raise ToolRetryError("try again")

    assert (await result_of(home, tool)).meta == {RETRY_KEY: True, LABELS_KEY: ["secret"]}


async def test_nobody_is_told_as_a_refusal(home: Home) -> None:
    result = await governed(home, get_user_id)._run({})

    assert (result.is_error, (result.structured_content or {})["code"]) == (True, "BSC-305")


async def test_arguments_that_do_not_fit_can_be_mended(home: Home) -> None:
    def tool(count: int) -> int:
        return count

    result = await result_of(home, tool, count="many")

    assert (result.is_error, result.meta) == (True, {RETRY_KEY: True})
    assert "count" in text_of(result)


@pytest.mark.parametrize("error", [ZeroDivisionError(PRIVATE), KeyError(PRIVATE), OSError(PRIVATE)])
async def test_what_it_did_not_mean_to_raise_goes_on(home: Home, error: Exception) -> None:
    def tool() -> None:
        raise error

    with pytest.raises(type(error)):
        await result_of(home, tool)


class Reading(Tool):
    """A tool that is no function, and that reads what it has into a shape which that does not have."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        TypeAdapter(int).validate_python(PRIVATE)
        raise AssertionError


async def test_data_of_another_shape_is_no_mistake_of_the_client(home: Home) -> None:
    with pytest.raises(RuntimeError) as caught, home.course_of(ALICE):
        await governed(home, Reading(name="tool", parameters={"type": "object"}))._run({})
    assert PRIVATE not in str(caught.value)
    assert PRIVATE in str(caught.value.__cause__)


def shown(result: Any) -> tuple[str, Any, Any]:
    assert result.is_error
    return result.content[0].text, result.structured_content, result.meta


@pytest.mark.parametrize(("code", "more"), [(None, {}), ("E7", {"code": "E7"}), (0, {"code": 0})])
def test_an_error_to_retry_says_so_in_words_for_a_program_and_in_meta(code: Any, more: dict[str, Any]) -> None:
    said = {"message": "no such city", "retriable": True, **more}

    assert shown(retryable("no such city", code)) == ("no such city", said, {RETRY_KEY: True})


def test_a_fatal_error_says_so_in_its_first_word_and_in_meta() -> None:
    words, structured, meta = shown(fatal("the licence has ended", 402))

    assert words == f"{PREFIX}the licence has ended"
    assert structured == {"message": words, "code": 402}
    assert meta == {FATAL_KEY: True}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Refused("not now", rule="r", fix="wait"), "not now; wait"),
        (Refused("not now", rule="r"), "not now"),
        (NotIdentified("who?", rule="r", fix="log in"), "who?; log in"),
    ],
)
def test_a_refusal_is_not_to_be_retried(error: Refused, words: str) -> None:
    assert shown(refused(error)) == (words, {"message": words, "code": error.code, "retriable": False}, None)


def test_an_error_in_the_arguments_is_one_to_retry() -> None:
    assert shown(failed(ValidationError("city is missing")))[1] == {"message": "city is missing", "retriable": True}


@pytest.mark.parametrize("error", [ToolError("the author's words"), NotFoundError("no such thing")])
def test_what_an_author_says_in_fastmcps_own_way_is_said_as_it_is(error: Any) -> None:
    assert shown(failed(error)) == (str(error), None, None)
