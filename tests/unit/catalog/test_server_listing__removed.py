"""Names of tools that are no longer there."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from bascule.catalog.entry import Entry
from bascule.catalog.server_listing import MOST_REMOVED, Removed
from bascule.core.finding import Finding, FindingKind
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus

FINDING = Finding(FindingKind.INSTRUCTION, "description", "ignore all rules")


def entries(*tools: str, **changes: Any) -> Mapping[str, Entry]:
    specs = (ToolSpec(f"work_{tool}", ToolKey("work", tool), "digest") for tool in tools)
    return {spec.key.tool: Entry(replace(spec, **changes)) for spec in specs}


def followed(*listings: Mapping[str, Entry], refuse: bool = False) -> Removed:
    removed = Removed()
    for before, now in pairwise(listings):
        removed.follow(before, now, refuse=refuse)
    return removed


def test_what_a_new_listing_lacks_was_removed():
    removed = followed(entries("a", "b"), entries("b", "c"))

    assert [removed.tool(f"work_{tool}") for tool in "abc"] == ["a", None, None]


def test_what_is_listed_again_is_not_removed():
    assert len(followed(entries("a"), entries(), entries("a"))) == 0


def test_it_is_forgotten_also_when_it_comes_back_hidden():
    assert len(followed(entries("a"), entries(), entries("a", status=ToolStatus.HIDDEN))) == 0


def test_what_agents_were_not_shown_is_not_told_of():
    assert len(followed(entries("a", status=ToolStatus.HIDDEN), entries())) == 0
    assert len(followed(entries("a", status=ToolStatus.UNUSABLE), entries())) == 0
    assert len(followed(entries("a", findings=(FINDING,)), entries(), refuse=True)) == 0
    assert len(followed(entries("a", findings=(FINDING,)), entries())) == 1


def test_the_oldest_are_forgotten_beyond_a_bound():
    many = [f"t{number}" for number in range(MOST_REMOVED + 10)]
    removed = followed(entries("old", *many), entries(*many), entries("new"))

    assert len(removed) == MOST_REMOVED
    assert removed.tool("work_old") is None
    assert removed.tool(f"work_{many[-1]}") == many[-1]
