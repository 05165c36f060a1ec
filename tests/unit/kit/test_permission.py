from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest

from bascule.core.errors import UsageError
from bascule.kit.permission import (
    PERMISSIONS_KEY,
    ToolPermission,
    in_words,
    marked_permissions,
    read_permissions,
    tool_permission,
)

READ, WRITE, CONNECT = ToolPermission.READ, ToolPermission.WRITE, ToolPermission.CONNECT


def a_function() -> None: ...


@pytest.mark.parametrize("said", [(READ,), (WRITE,), (READ, CONNECT), (READ, WRITE, CONNECT)])
def test_a_function_says_what_it_does_and_stays_itself(said: tuple[ToolPermission, ...]) -> None:
    def tool() -> str:
        return "done"

    marked = tool_permission(*said)(tool)

    assert marked is tool
    assert marked() == "done"
    assert marked_permissions(tool) == frozenset(said)


def test_a_function_that_says_nothing_does_nothing_known() -> None:
    assert marked_permissions(a_function) is None


@pytest.mark.parametrize("said", [(), (a_function,), ("READ",), (None,), (READ, "everything"), (7,)])
def test_what_says_nothing_that_is_known_is_refused_where_it_is_written(said: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError, match="needs what the tool does") as caught:
        tool_permission(*said)
    assert "@tool_permission(ToolPermission.READ)" in caught.value.fix


def test_the_plain_word_means_the_same() -> None:
    marked: Any = tool_permission("connect")(lambda: None)  # pyright: ignore[reportArgumentType]

    assert in_words(marked_permissions(marked) or ()) == ["connect"]


def test_said_twice_a_tool_does_both() -> None:
    def tool() -> None: ...

    assert marked_permissions(tool_permission(READ)(tool_permission(CONNECT)(tool))) == {READ, CONNECT}


def test_a_wrapper_says_what_the_function_in_it_says() -> None:
    def twice(tool: Callable[[], None]) -> Callable[[], None]:
        @wraps(tool)
        def run() -> None: ...

        return run

    @twice
    @tool_permission(CONNECT)
    def tool() -> None: ...

    assert marked_permissions(tool) == {CONNECT}


@pytest.mark.parametrize(
    "meta",
    [
        None,
        {},
        [],
        "read",
        {PERMISSIONS_KEY: None},
        {PERMISSIONS_KEY: []},
        {PERMISSIONS_KEY: "read"},
        {PERMISSIONS_KEY: ["read", "everything"]},
        {PERMISSIONS_KEY: ["READ"]},
        {PERMISSIONS_KEY: ["read", 7]},
        {PERMISSIONS_KEY: {"read": True}},
    ],
)
def test_meta_that_cannot_be_read_says_nothing(meta: Any) -> None:
    assert read_permissions(meta) is None


def test_meta_says_the_same_as_the_mark() -> None:
    said = frozenset({READ, CONNECT})

    assert in_words(said) == ["connect", "read"]
    assert read_permissions({PERMISSIONS_KEY: in_words(said)}) == said
