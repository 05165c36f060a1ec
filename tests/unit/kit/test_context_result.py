"""The decorator, on plain functions and on tools of a FastMCP server."""

import inspect
import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from fastmcp import Client, FastMCP

from bascule.config.model.result_presets import PRESETS, Preset
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.kit.context_result import CURRENT, context_result
from bascule.kit.request_context import Home
from bascule.result_limits.shrink import NOTICE
from bascule.workspace import Workspace
from bascule.workspace.host_paths import CURRENT as WORKSPACE
from support.waiting import fail_after

ROWS = [{"id": n, "name": "somebody"} for n in range(1000)]


class Row(TypedDict):
    id: int
    name: str


@dataclass
class Report:
    rows: list[Row]


@pytest.fixture
def workspace(tmp_path: Path) -> Generator[Workspace]:
    with Workspace.of(Principal("alice", "s-1"), tmp_path) as made:
        token = WORKSPACE.set(lambda: made)
        yield made
        WORKSPACE.reset(token)


def saved(workspace: Workspace) -> bytes:
    (entry,) = workspace.list("results")
    return workspace.read_bytes(f"results/{entry.name}")


@context_result()
def text(times: int = 1, word: str = "word ") -> str:
    """Say a word again and again."""
    return word * times


@context_result("sql_query")
async def rows() -> list[dict[str, Any]]:
    return ROWS


@context_result()
def mapping() -> dict[str, Any]:
    return {"rows": ROWS}


@context_result()
def typed() -> list[Row]:
    return ROWS  # pyright: ignore[reportReturnType]


@context_result()
def report() -> Report:
    return Report(ROWS)  # pyright: ignore[reportArgumentType]


@context_result()
async def words() -> list[str]:
    return ["word"] * 5000


@context_result()
def raw() -> bytes:
    return b"\xff" * 9000


@context_result()
def untold():
    return tuple(ROWS)


@context_result()
def either(*, long: bool = True) -> str | dict[str, Any] | None:
    return {"rows": ROWS} if long else None


def test_a_short_result_is_left_as_it_is():
    assert text(3) == "word word word "
    assert either(long=False) is None


def test_a_long_text_is_saved_and_previewed(workspace: Workspace):
    shown = text(5000)
    assert len(shown) <= 5000
    assert "25,000 characters" in shown
    assert saved(workspace) == b"word " * 5000


async def test_a_long_list_of_an_async_tool_is_saved_and_stays_a_list(workspace: Workspace):
    shown = await rows()
    assert isinstance(shown, list)
    assert len(json.dumps(shown, separators=(",", ":"))) <= 2000
    assert "/workspace/results/" in shown[0][NOTICE]
    assert shown[1] == ROWS[0]
    assert json.loads(saved(workspace)) == ROWS


@pytest.mark.parametrize(("tool", "kind"), [(mapping, dict), (typed, list), (report, dict), (untold, list), (raw, str)])
def test_other_results_stay_what_they_were(tool: Callable[[], Any], kind: type, workspace: Workspace):
    assert isinstance(tool(), kind)
    assert len(saved(workspace)) > 5000


def test_without_a_workspace_the_preview_says_that_nothing_was_saved():
    shown = text(5000)
    assert len(shown) <= 5000
    assert "could not be saved, and what is not shown here is lost: there is no workspace" in shown


def test_without_room_the_preview_says_so(tmp_path: Path):
    with Workspace.of(Principal("alice", "s-1"), tmp_path, quota=8192) as small:
        token = WORKSPACE.set(lambda: small)
        shown = text(5000)
        WORKSPACE.reset(token)
    assert "could not be saved" in shown
    assert "no room" in shown


def test_an_error_goes_on_as_it_is():
    @context_result()
    def failing() -> str:
        raise ValueError("x" * 9000)

    with pytest.raises(ValueError, match="xxxx"):
        failing()


def test_presets_are_those_of_the_server(workspace: Workspace):
    token = CURRENT.set({**PRESETS, "default": Preset(characters=1234)})
    assert len(text(5000)) <= 1234
    CURRENT.reset(token)


def test_an_unknown_preset_is_refused_before_the_tool_runs():
    ran: list[int] = []

    @context_result("huge")
    def tool() -> str:
        ran.append(1)
        return ""

    with pytest.raises(UsageError, match="huge") as caught:
        tool()
    assert "default, sql_query, log_search" in caught.value.evidence
    assert not ran


def test_the_signature_is_kept():
    assert text.__name__ == "text"
    assert text.__doc__ == "Say a word again and again."
    assert str(inspect.signature(text)) == "(times: int = 1, word: str = 'word ') -> str"
    assert str(inspect.signature(typed)) == "()"
    assert inspect.iscoroutinefunction(rows)
    assert not inspect.iscoroutinefunction(text)


TOOLS = (text, rows, mapping, typed, report, words, raw, untold, either)


async def test_clients_that_validate_take_what_is_left(workspace: Workspace):
    server = FastMCP("test")
    for tool in TOOLS:
        server.tool(tool)
    async with fail_after(20), Client(server) as client:
        listed = {tool.name: tool for tool in await client.list_tools()}
        assert listed["text"].input_schema["properties"]["times"] == {"type": "integer", "default": 1}
        promising = {name for name, tool in listed.items() if tool.output_schema is not None}
        assert promising == {"text", "rows", "mapping", "words", "either"}
        for name in listed:
            given = {"times": 5000} if name == "text" else {}
            result = await client.call_tool(name, given)
            assert not result.is_error
            assert all(len(block.text) <= 5100 for block in result.content if block.type == "text"), name
            assert "/workspace/results/" in str(result.content)
        assert (await client.call_tool("rows")).data[1] == ROWS[0]
    assert len(workspace.list("results")) == len(TOOLS) + 1


def test_the_course_of_a_request_brings_the_presets_of_its_server(tmp_path: Path):
    home = Home("records", folder=tmp_path, presets={"default": Preset(characters=1234)})
    with home.course_of(Principal("alice", "s-1")):
        shown = text(5000)
    home.close()
    assert len(shown) <= 1234
    assert "The whole is in /workspace/results/" in shown
    assert CURRENT.get() is PRESETS
