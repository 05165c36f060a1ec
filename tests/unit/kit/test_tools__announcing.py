"""What comes into a registry and what leaves it is told, and nothing else."""

import asyncio
from typing import Any

import pytest
from fastmcp.exceptions import NotFoundError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

from bascule.kit.events.changes import Changes
from bascule.kit.tools import AnnouncingProvider


def words() -> str:
    """Words."""
    return "words"


def one(name: str) -> str:
    """Words about one."""
    return name


async def heard_of(heard: list[ServerEvent]) -> list[ServerEvent]:
    await asyncio.sleep(0)
    told = heard[:]
    heard.clear()
    return told


def watched(**options: Any) -> tuple[AnnouncingProvider, list[ServerEvent]]:
    changes, heard = Changes(), list[ServerEvent]()
    changes.subscribe(heard.append)
    return AnnouncingProvider(changes, **options), heard


async def test_each_kind_is_told_as_a_change_of_its_list():
    provider, heard = watched()
    provider.tool(words)
    assert await heard_of(heard) == [ToolsListChanged()]
    provider.prompt(words)
    assert await heard_of(heard) == [PromptsListChanged()]
    provider.resource("a://words")(words)
    assert await heard_of(heard) == [ResourcesListChanged()]
    provider.resource("a://{name}")(one)
    assert await heard_of(heard) == [ResourcesListChanged()]

    provider.remove_tool("words")
    assert await heard_of(heard) == [ToolsListChanged()]
    provider.remove_prompt("words")
    assert await heard_of(heard) == [PromptsListChanged()]
    provider.remove_resource("a://words")
    assert await heard_of(heard) == [ResourcesListChanged()]
    provider.remove_template("a://{name}")
    assert await heard_of(heard) == [ResourcesListChanged()]


async def test_what_was_not_taken_changes_nothing():
    provider, heard = watched(on_duplicate="ignore")
    provider.tool(words)
    await heard_of(heard)
    provider.tool(words)
    assert await heard_of(heard) == []


async def test_what_is_refused_changes_nothing():
    provider, heard = watched(on_duplicate="error")
    provider.tool(words)
    await heard_of(heard)
    with pytest.raises(ValueError, match="already exists"):
        provider.tool(words)
    with pytest.raises((KeyError, NotFoundError)):
        provider.remove_tool("unheard of")
    assert await heard_of(heard) == []


async def test_what_replaces_another_is_a_change():
    provider, heard = watched(on_duplicate="replace")
    provider.tool(words)
    await heard_of(heard)
    provider.tool(words)
    assert await heard_of(heard) == [ToolsListChanged()]
