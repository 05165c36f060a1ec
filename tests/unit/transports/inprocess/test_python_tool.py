"""Functions as tools: what is told of them, and how they are run."""

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from bascule.core.errors import UsageError
from bascule.core.permission import Permission
from bascule.core.principal import Principal
from bascule.kit import ToolPermission, tool_permission
from bascule.transports.inprocess.python_tool import NativeTool, native_tools, tool
from bascule.transports.inprocess.python_types import Progress, unheard
from support.links import ALICE
from support.waiting import fail_after

READ, WRITE, CONNECT = Permission


def ignored(_thread: asyncio.Future[Any]) -> None:
    """Nobody wants to know what runs in a thread."""


async def run(function: Callable[..., Any], arguments: bytes = b"{}", principal: Principal | None = ALICE) -> Any:
    made = NativeTool.of(function)
    task = asyncio.ensure_future(made.work(msgspec.Raw(arguments), principal, Progress(unheard), ignored))
    async with fail_after(10, "the function"):
        await asyncio.wait((task,))
    reply = made.reply(task)
    return reply["content"][0]["text"]


def test_a_function_is_told_by_its_name_and_its_docstring():
    def plain(a: int) -> int:
        """Count.

        Slowly.
        """
        return a

    made = NativeTool.of(plain)
    assert (made.name, made.definition["description"]) == ("plain", "Count.\n\nSlowly.")
    assert (made.permissions, made.in_a_thread, "outputSchema" in made.definition) == (None, True, False)


def test_a_program_can_say_otherwise_and_the_function_stays_what_it_is():
    @tool("read", Permission.CONNECT, name="other", description="Said.")
    def plain() -> dict[str, int]:
        """Written."""
        return {}

    made = NativeTool.of(plain)
    assert plain() == {}
    assert (made.name, made.definition["description"]) == ("other", "Said.")
    assert made.permissions == {READ, CONNECT}
    assert made.definition["outputSchema"]["type"] == "object"


def test_what_the_kits_decorator_says_counts_too():
    @tool_permission(ToolPermission.WRITE)
    def plain() -> None: ...

    assert NativeTool.of(plain).permissions == {WRITE}
    assert NativeTool.of(tool("read")(plain)).permissions == {READ}
    assert NativeTool.of(tool(name="x")(plain)).permissions == {WRITE}


@pytest.mark.parametrize("odd", ["delete", "", 7, lambda: None])
def test_what_nobody_can_do_is_refused(odd: Any):
    with pytest.raises(UsageError) as refused:
        tool(odd)
    assert "brackets" in refused.value.fix


def test_what_cannot_be_a_tool_is_refused():
    class Nameless:
        def __call__(self) -> None: ...

    for odd in (7, Nameless(), lambda: None, functools.partial(print, 1)):
        with pytest.raises(UsageError):
            NativeTool.of(odd)  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="marked"):
        tool("read")(len)


def test_two_functions_cannot_have_one_name():
    def one() -> None: ...

    with pytest.raises(UsageError, match="two functions are called one"):
        native_tools([one, tool(name="one")(lambda: None)])


def test_an_object_that_can_be_called_has_no_docstring_of_its_own():
    class Clerk:
        """A class about something else."""

        async def __call__(self) -> None: ...

    made = NativeTool.of(tool(name="clerk")(Clerk()))
    assert (made.definition["description"], made.in_a_thread) == ("", False)


class Shop:
    def __init__(self) -> None:
        self.sold: list[str] = []

    @tool("write")
    async def sell(self, what: str) -> str:
        self.sold.append(what)
        return f"sold {what}"


async def test_a_method_is_a_tool_as_well():
    shop = Shop()
    assert await run(shop.sell, b'{"what": "tea"}') == "sold tea"
    assert shop.sold == ["tea"]
    assert NativeTool.of(shop.sell).permissions == {WRITE}


async def test_a_coroutine_runs_in_the_loop_and_any_other_function_in_a_thread():
    home = threading.get_ident()

    async def beside() -> bool:
        return threading.get_ident() == home

    def apart() -> bool:
        return threading.get_ident() == home

    def lazily() -> Any:
        return beside()

    assert [await run(each) for each in (beside, apart, lazily)] == ["true", "false", "true"]


async def test_parameters_are_filled_in_by_place_and_by_name():
    def function(first: str, second: str = "2", /, third: str = "3", *, me: Principal, say: Progress) -> str:
        say(1)
        return f"{first}{second}{third}{me.user_id}"

    assert await run(function, b'{"first": "a", "third": "c"}') == "a2calice"
    assert await run(function, b'{"first": "a", "second": "b"}') == "ab3alice"


async def test_who_wants_to_know_who_asks_is_not_called_for_nobody():
    called: list[Principal] = []

    def function(me: Principal) -> None:
        called.append(me)

    told = await run(function, principal=None)
    assert "not known on whose behalf" in told
    assert called == []


async def test_arguments_that_only_the_functions_types_refuse_are_told():
    def function(when: int) -> None: ...

    assert "the arguments do not fit" in await run(function, b'{"when": "now"}')


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), asyncio.CancelledError()])
async def test_whatever_it_raises_is_a_reply(error: BaseException):
    async def beside() -> None:
        raise error

    assert (await run(beside)).startswith("beside failed: ")


async def test_a_library_that_ends_the_program_does_not_end_ours():
    def leaving() -> None:
        raise SystemExit(2)

    assert await run(leaving) == "leaving failed: RuntimeError"


async def test_what_runs_in_a_thread_is_told_of():
    threads: list[asyncio.Future[Any]] = []

    def apart() -> None: ...

    made = NativeTool.of(apart)
    async with fail_after(10):
        await made.work(msgspec.Raw(b"{}"), ALICE, Progress(unheard), threads.append)

    assert len(threads) == 1
    assert threads[0].done()
