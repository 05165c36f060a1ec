"""What is remembered of listings, and what has changed since."""

from pathlib import Path
from typing import Any

from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.listing_history import MAX_FINDINGS, ListingMemory
from bascule.store.interface import Store
from bascule.store.sqlite.store import SqliteStore


def tool(name: str, description: str = "") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def listing(*tools: dict[str, Any]) -> ServerListing:
    pages = Pages()
    pages.add({"tools": list(tools)})
    return catalog_listing("files", "files", pages)[0]


def remembering(store: Store, home: str = "/a") -> ListingMemory:
    return ListingMemory(store, home, lambda: 7.0)


async def test_a_server_seen_for_the_first_time_adds_all_it_has_and_is_no_surprise(tmp_path: Path):
    memory = remembering(SqliteStore(tmp_path / "db"))
    change = await memory.note(Lane.OPEN, listing(tool("read"), tool("write")))
    assert change is not None
    assert (change.added, change.changed, change.removed, change.at) == (("read", "write"), (), (), 7.0)
    assert memory.changes == {}


async def test_an_unchanged_listing_is_no_change_in_this_run_nor_in_the_next(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    memory = remembering(store)
    await memory.note(Lane.OPEN, listing(tool("read")))
    assert await memory.note(Lane.OPEN, listing(tool("read"))) is None
    assert await remembering(store).note(Lane.OPEN, listing(tool("read"))) is None
    await store.close()


async def test_what_changed_between_two_runs_is_told_and_kept_for_who_asks(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    await remembering(store).note(Lane.OPEN, listing(tool("read"), tool("old")))
    memory = remembering(store)
    change = await memory.note(Lane.OPEN, listing(tool("read", "Now it also writes."), tool("new")))
    assert change is not None
    assert (change.added, change.changed, change.removed) == (("new",), ("read",), ("old",))
    assert memory.changes == {"files": change}
    assert await remembering(store).note(Lane.OPEN, listing(tool("read", "Now it also writes."), tool("new"))) is None
    await store.close()


async def test_configs_and_lanes_are_remembered_apart(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    await remembering(store).note(Lane.OPEN, listing(tool("read")))
    assert await remembering(store, "/b").note(Lane.OPEN, listing(tool("read"))) is not None
    assert await remembering(store).note(Lane.SEALED, listing(tool("read"))) is not None
    await store.close()


async def test_a_change_tells_the_findings_of_what_is_new(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    first = await remembering(store).note(Lane.OPEN, listing(tool("read", "a\u200bb"), tool("write")))
    second = await remembering(store).note(Lane.OPEN, listing(tool("read", "a\u200bb"), tool("write", "\u202e")))
    await store.close()
    assert first is not None
    assert second is not None
    assert [told.partition(" ")[0] for told in first.findings] == ["read:"]
    assert [told.partition(" ")[0] for told in second.findings] == ["write:"]


async def test_of_very_many_findings_a_change_tells_some(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    change = await remembering(store).note(Lane.OPEN, listing(*(tool(f"t{n}", "\u200b") for n in range(300))))
    await store.close()
    assert change is not None
    assert len(change.findings) == MAX_FINDINGS


async def test_what_is_offered_beside_tools_is_remembered_beside_them(tmp_path: Path):
    store = SqliteStore(tmp_path / "db")
    memory = remembering(store)
    await memory.note(Lane.OPEN, listing(tool("read")))
    first = await memory.note_offers(Lane.OPEN, "files", "prompts", {"greet": "sha256:1"})
    assert first is not None
    assert (first.kind, first.server, first.added) == ("prompts", "files", ("greet",))
    assert await memory.note_offers(Lane.OPEN, "files", "prompts", {"greet": "sha256:1"}) is None
    again = await remembering(store).note_offers(Lane.OPEN, "files", "prompts", {"greet": "sha256:2"})
    assert again is not None
    assert (again.added, again.changed, memory.changes) == ((), ("greet",), {})
    assert await remembering(store).note(Lane.OPEN, listing(tool("read"))) is None
    await store.close()


async def test_a_server_that_never_offered_anything_beside_tools_is_no_change(tmp_path: Path):
    memory = remembering(SqliteStore(tmp_path / "db"))
    assert await memory.note_offers(Lane.OPEN, "files", "resources", {}) is None
