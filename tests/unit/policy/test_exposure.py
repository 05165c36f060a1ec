"""Allow less block."""

from typing import Any

import pytest

from bascule.policy.exposure import Exposure


@pytest.mark.parametrize(
    ("allow", "block", "permitted"),
    [
        (None, [], {"read", "write", "admin_reset"}),
        (None, ["admin_*"], {"read", "write"}),
        (["read"], [], {"read"}),
        (["*"], ["write", "admin_*"], {"read"}),
        (["r*", "w?ite"], [], {"read", "write"}),
        (["[rw]*"], ["read"], {"write"}),
        (["read"], ["read"], set()),
        ((), (), set()),
        ([], [], set()),
        (["READ"], [], set()),
        (["rea"], [], set()),
        (["ead"], [], set()),
        (None, ["*"], set()),
    ],
)
def test_a_tool_is_permitted_if_allowed_and_not_blocked(allow: Any, block: Any, permitted: set[str]):
    exposure = Exposure.of(allow, block)

    assert {tool for tool in ("read", "write", "admin_reset") if exposure.permits(tool)} == permitted


@pytest.mark.parametrize("unreadable", ["read", 7, True, {"read": True}, ["read", 7], [None], ["read", ["write"]]])
def test_a_list_that_cannot_be_read_exposes_nothing(unreadable: Any):
    assert not Exposure.of(unreadable).permits("read")
    assert not Exposure.of(None, unreadable).permits("read")
    assert not Exposure.of(["read"], unreadable).permits("read")


def test_an_absent_block_list_is_not_an_empty_one():
    assert not Exposure.of(None, None).permits("read")


@pytest.mark.parametrize("tool", ["a.b", "a b", "a[b]", "größe", "a\\b"])
def test_names_with_odd_characters_are_matched_as_they_are(tool: str):
    escaped = tool.replace("[", "[[]")

    assert Exposure.of([escaped]).permits(tool)
    assert not Exposure.of([escaped]).permits(tool + "x")


def test_a_name_is_matched_whole_even_with_a_line_break():
    assert not Exposure.of(["read"]).permits("read\n")
    assert not Exposure.of(None, ["*"]).permits("read\nwrite")
