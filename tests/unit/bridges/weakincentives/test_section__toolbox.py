from dataclasses import replace
from typing import Any

import pytest

from bascule.bridges.weakincentives.errors import McpSchemaError
from bascule.bridges.weakincentives.section import NO_TOOLS
from bascule.core.tool import ToolKey, ToolSpec

SAY = ToolSpec("work_Say", ToolKey("work", "Say"), "digest", "Says it.")
ODD = ToolSpec("work_odd", ToolKey("work", "odd"), "digest")


class Making:
    """Makes tools of nothing, but for odd ones, and counts them."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, name: str, spec: ToolSpec) -> Any:
        if spec.key.tool == "odd":
            raise McpSchemaError("no", server_name="work", tool_name="odd", reason="it is odd")
        self.made.append(name)
        return object()


def test_a_tool_that_did_not_change_stays_the_same():
    make = Making()
    first = NO_TOOLS.following([SAY], make)
    second = first.following([SAY], make)
    third = second.following([replace(SAY, description="Says more.")], make)

    assert first.all == second.all
    assert third.all != second.all
    assert make.made == ["work_say", "work_say"]
    assert third.spec("work_say").description == "Says more."


def test_one_that_cannot_be_made_is_told_and_takes_no_other_with_it():
    found = NO_TOOLS.following([ODD, SAY], Making())

    assert len(found.all) == 1
    assert [error.tool_name for error in found.refused] == ["odd"]


def test_tools_are_told_by_server():
    assert NO_TOOLS.following([SAY], Making()).by_server(["idle"]) == {"idle": {}, "work": {"work_say": SAY}}


def test_two_of_one_name_are_an_error():
    with pytest.raises(McpSchemaError):
        NO_TOOLS.following([SAY, replace(SAY, name="work_say")], Making())
