"""What changed is heard by whoever wants to know, in their own loop."""

import asyncio
import threading
from contextvars import ContextVar

from mcp.shared.subscriptions import PromptsListChanged, ResourceUpdated, ServerEvent, ToolsListChanged

from bascule.kit.events.changes import Changes
from support.waiting import fail_after

TOOLS = ToolsListChanged()
PROMPTS = PromptsListChanged()

whose: ContextVar[str] = ContextVar("whose", default="nobody's")


async def a_turn() -> None:
    """All that is due in this loop is done."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_everybody_who_listens_hears_of_a_change():
    changes, ada, bob = Changes(), list[ServerEvent](), list[ServerEvent]()
    changes.subscribe(ada.append)
    changes.subscribe(bob.append)
    changes.tell(TOOLS, ResourceUpdated("a:1"))
    await changes.publish(PROMPTS)
    await a_turn()
    assert ada == bob == [TOOLS, ResourceUpdated("a:1"), PROMPTS]


async def test_a_change_in_a_thread_is_heard_in_the_loop():
    changes, heard = Changes(), asyncio.Event()
    places: list[threading.Thread] = []

    def hear(_event: ServerEvent) -> None:
        places.append(threading.current_thread())
        heard.set()

    # Finds out who puts something into a loop from outside without waking it up.
    asyncio.get_running_loop().set_debug(True)
    changes.subscribe(hear)
    await asyncio.to_thread(changes.tell, TOOLS)
    async with fail_after(10, "the change being heard of"):
        await heard.wait()
    assert places == [threading.current_thread()]


async def test_what_is_told_again_before_it_was_heard_is_heard_once_and_afterwards_again():
    changes, heard = Changes(), list[ServerEvent]()
    changes.subscribe(heard.append)
    for _ in range(5000):
        changes.tell(TOOLS)
    await a_turn()
    assert heard == [TOOLS]
    changes.tell(TOOLS)
    await a_turn()
    assert heard == [TOOLS, TOOLS]


async def test_a_change_made_by_who_hears_of_one_is_another_one():
    changes, heard = Changes(), list[ServerEvent]()

    def hear(event: ServerEvent) -> None:
        heard.append(event)
        if len(heard) == 1:
            changes.tell(TOOLS)

    changes.subscribe(hear)
    changes.tell(TOOLS)
    await a_turn()
    assert heard == [TOOLS, TOOLS]


async def test_who_has_gone_hears_nothing_not_even_what_was_on_its_way():
    changes, heard, kept = Changes(), list[ServerEvent](), list[ServerEvent]()
    unsubscribe = changes.subscribe(heard.append)
    changes.subscribe(kept.append)
    changes.tell(TOOLS)
    unsubscribe()
    unsubscribe()
    changes.tell(PROMPTS)
    await a_turn()
    assert heard == []
    assert kept == [TOOLS, PROMPTS]


async def test_a_loop_that_has_ended_is_in_nobodys_way():
    changes, heard = Changes(), list[ServerEvent]()

    async def gone() -> None:
        changes.subscribe(heard.append)

    await asyncio.to_thread(asyncio.run, gone())
    here: list[ServerEvent] = []
    changes.subscribe(here.append)
    changes.tell(TOOLS)
    await a_turn()
    assert heard == []
    assert here == [TOOLS]


async def test_who_hears_of_a_change_is_not_taken_for_whoever_made_it():
    changes, found = Changes(), list[str]()
    changes.subscribe(lambda _event: found.append(whose.get()))
    token = whose.set("ada's")
    changes.tell(TOOLS)
    whose.reset(token)
    await a_turn()
    assert found == ["nobody's"]
