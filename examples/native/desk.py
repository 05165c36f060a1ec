"""Functions of a program as governed tools, with a wrapper around one of them. Run it: `python desk.py`."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from bascule import Outcome, Principal, Runtime, ToolRetryError, Wrapped, tool
from bascule.core.sensitivity import DataSensitivity

SHELF = {"tea": 12, "coffee": 0}
MOST = 10


@dataclass
class Order:
    item: str
    count: int
    by: str


@tool("read")
def stock(item: Annotated[str, "What to look for."]) -> int:
    """How many there are on the shelf."""
    if item not in SHELF:
        raise ToolRetryError(f"there is no {item}; there are {', '.join(SHELF)}")
    return SHELF[item]


@tool("write")
async def order(item: str, by: Principal, count: int = 1) -> Order:
    """Order something."""
    return Order(item, count, by.user_id)


@tool("connect")
async def post(text: str) -> str:
    """Tell the world."""
    return f"told the world: {text}"


async def at_most_ten(call: Wrapped, arguments: dict[str, Any]) -> Outcome:
    """Stands around `desk_order`: nobody orders more than ten."""
    if arguments.get("count", 1) > MOST:
        raise ToolRetryError(f"at most {MOST} can be ordered at once")
    return await call(arguments)


async def main() -> None:
    runtime = Runtime.from_servers({"desk": [stock, order, post]})
    runtime.wrap("desk_order", at_most_ten)
    async with runtime:
        session = runtime.session(user_id="alice", session_id="s-1")
        for spec in await session.tools():
            print(spec.name, *sorted(spec.permissions))
        await show(session.call("desk_stock", {"item": "tea"}))
        await show(session.call("desk_stock", {"item": "milk"}))
        await show(session.call("desk_order", {"item": "tea", "count": 2}))
        await show(session.call("desk_order", {"item": "tea", "count": 200}))
        await session.add_private_dataset("customers", DataSensitivity.CONFIDENTIAL)
        await show(session.call("desk_stock", {"item": "tea"}))
        await show(session.call("desk_post", {"text": "our customers are …"}))


async def show(call: Any) -> None:
    outcome = await call
    print(outcome.text if outcome.ok else f"{outcome.kind}: {outcome.message}")


if __name__ == "__main__":
    asyncio.run(main())
