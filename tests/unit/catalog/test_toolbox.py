"""All tools of all servers."""

from typing import Any

import pytest

from bascule.catalog.judgement import Judgement
from bascule.catalog.pages import Pages
from bascule.catalog.server_listing import ServerListing, catalog_listing
from bascule.catalog.toolbox import Toolbox
from bascule.core.errors import UnknownTool
from bascule.core.tool import ToolKey, ToolStatus


def listing_of(server: str, *tools: Any, prefix: str | None = None, hidden: tuple[str, ...] = ()) -> ServerListing:
    pages = Pages()
    definitions = [
        {"name": tool, "inputSchema": {"type": "object"}} if isinstance(tool, str) else tool for tool in tools
    ]
    pages.add({"tools": definitions})

    def judge(definition: dict[str, Any], _digest: str) -> Judgement:
        return Judgement(definition["name"] not in hidden)

    listing, _ = catalog_listing(server, server if prefix is None else prefix, pages, judge=judge)
    return listing


def test_a_name_leads_to_its_tool():
    box = Toolbox([listing_of("files", "read", "write"), listing_of("web", "read")])

    assert box.resolve("files_read").spec.key == ToolKey("files", "read")
    assert box.resolve("web_read").spec.key == ToolKey("web", "read")
    assert [spec.name for spec in box.specs()] == ["files_read", "files_write", "web_read"]
    with pytest.raises(UnknownTool):
        box.resolve("nothing")


def test_a_name_is_there_where_it_can_be_resolved():
    box = Toolbox([listing_of("files", "read", "hide", hidden=("hide",))])

    assert [box.has(name) for name in ("files_read", "files_hide", "read")] == [True, False, False]


def test_a_removed_tool_is_told_from_an_unknown_one_and_both_with_what_is_near():
    box = Toolbox([listing_of("files", "read_file", "write_file")])
    removed, unknown = box.removed("files_read_files", "files"), box.unknown("files_read_files")

    assert removed.message.startswith(
        "'files_read_files' was removed by its server, files; did you mean files_read_file"
    )
    assert unknown.message.startswith("there is no tool 'files_read_files'; did you mean files_read_file")
    assert (removed.nearest, removed.fix) == (unknown.nearest, unknown.fix)
    assert Toolbox([]).removed("x" * 500, "files").message == f"'{'x' * 80}' was removed by its server, files"


def test_names_are_looked_up_and_never_taken_apart():
    box = Toolbox([listing_of("a", "b_c"), listing_of("a_b", "d")])

    assert box.resolve("a_b_c").spec.key == ToolKey("a", "b_c")
    assert box.resolve("a_b_d").spec.key == ToolKey("a_b", "d")


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownTool, match="did you mean files_read") as caught:
        Toolbox([listing_of("files", "read", "write")]).resolve("files_raed")

    assert caught.value.nearest[0] == "files_read"
    assert "bascule list" in caught.value.fix


def test_a_very_long_unknown_name_is_not_repeated_in_full():
    assert len(Toolbox().unknown("x" * 100_000).message) < 200


def test_an_empty_toolbox_knows_nothing():
    assert Toolbox().specs() == Toolbox().all_specs() == ()
    with pytest.raises(UnknownTool):
        Toolbox().resolve("a")


def test_of_two_tools_that_would_have_one_name_neither_is_exposed():
    box = Toolbox([listing_of("a", "b_c", "fine"), listing_of("a_b", "c")])

    assert [spec.name for spec in box.specs()] == ["a_fine"]
    with pytest.raises(UnknownTool):
        box.resolve("a_b_c")
    with pytest.raises(UnknownTool, match="a/b_c and a_b/c") as caught:
        box.resolve("a_b_c")
    assert "prefix" in caught.value.fix


def test_each_colliding_tool_says_with_which_and_what_to_do():
    colliding = Toolbox([listing_of("a", "x", prefix=""), listing_of("b", "x", prefix="")]).all_specs()

    assert [spec.status for spec in colliding] == [ToolStatus.COLLIDING] * 2
    assert all("a/x and b/x" in spec.problem and "prefix" in spec.problem for spec in colliding)


def test_a_collision_ends_with_a_toolbox_in_which_there_is_none():
    first, second = listing_of("a", "x", prefix=""), listing_of("b", "x", prefix="")

    assert Toolbox([first, second]).specs() == ()
    assert [spec.key.server for spec in Toolbox([first]).specs()] == ["a"]


def test_a_hidden_tool_collides_with_nothing():
    box = Toolbox([listing_of("a", "x", prefix="", hidden=("x",)), listing_of("b", "x", prefix="")])

    assert box.resolve("x").spec.key == ToolKey("b", "x")
    assert [spec.status for spec in box.all_specs()] == [ToolStatus.HIDDEN, ToolStatus.EXPOSED]


def test_a_hidden_tool_is_answered_exactly_as_one_that_does_not_exist():
    without = Toolbox([listing_of("files", "read")])
    hiding = Toolbox([listing_of("files", "read", "raed", hidden=("raed",))])

    with pytest.raises(UnknownTool) as hidden:
        hiding.resolve("files_raed")
    with pytest.raises(UnknownTool) as absent:
        without.resolve("files_raed")

    assert vars(hidden.value) == vars(absent.value) == vars(hiding.unknown("files_raed"))
    assert str(hidden.value) == str(absent.value)
    assert hiding.specs() == without.specs()


def test_a_hidden_tool_is_never_suggested():
    box = Toolbox([listing_of("files", "read", "delete_all", hidden=("delete_all",))])

    assert box.unknown("files_delete_al").nearest == ("files_read",)


def test_an_unusable_tool_is_found_but_not_shown():
    costly = {"name": "costly", "inputSchema": {"type": "string"}}
    box = Toolbox([listing_of("files", "read", costly)])

    assert [spec.name for spec in box.specs()] == ["files_read"]
    assert box.resolve("files_costly").spec.status is ToolStatus.UNUSABLE
    assert [spec.status for spec in box.all_specs()] == [ToolStatus.EXPOSED, ToolStatus.UNUSABLE]


HIDING = {"name": "hides", "description": "a\u200bb", "inputSchema": {"type": "object"}}


def test_findings_change_nothing_unless_they_are_refused():
    listing = listing_of("files", HIDING, "read")
    entry = listing.entries["hides"]

    assert Toolbox([listing]).resolve("files_hides") is entry
    assert len(Toolbox([listing]).specs()) == 2


def test_where_findings_are_refused_the_tool_is_quarantined_and_has_nothing_to_be_called_by():
    box = Toolbox([listing_of("files", HIDING, "read")], refuse=True)
    entry = box.resolve("files_hides")

    assert [spec.name for spec in box.specs()] == ["files_read"]
    assert (entry.spec.status, entry.arguments) == (ToolStatus.QUARANTINED, None)
    assert "invisible in description" in entry.spec.problem
    assert "screen: flag" in entry.spec.problem


def test_a_tool_that_is_unusable_anyway_stays_so():
    broken = {**HIDING, "inputSchema": {"type": "string"}}

    assert Toolbox([listing_of("files", broken)], refuse=True).all_specs()[0].status is ToolStatus.UNUSABLE


def test_a_hidden_tool_is_not_screened():
    (spec,) = Toolbox([listing_of("files", HIDING, hidden=("hides",))], refuse=True).all_specs()

    assert (spec.status, spec.findings) == (ToolStatus.HIDDEN, ())


@pytest.mark.parametrize("refuse", [False, True])
def test_a_name_like_anothers_is_a_finding_of_the_one_in_disguise(refuse: bool):
    box = Toolbox([listing_of("a", "read_file"), listing_of("b", "1ist", "list", prefix="")], refuse=refuse)
    specs = {spec.key.tool: spec for spec in box.all_specs()}

    assert "looks like b/list" in specs["1ist"].findings[0].evidence
    assert specs["list"].findings == specs["read_file"].findings == ()
    assert specs["1ist"].status is (ToolStatus.QUARANTINED if refuse else ToolStatus.EXPOSED)
    assert (box.resolve("1ist").arguments is None) is refuse


def test_what_nobody_has_approved_takes_no_name_from_another():
    pages = Pages()
    pages.add({"tools": [{"name": "read"}]})
    waiting, _ = catalog_listing("new", "", pages, judge=lambda *_: Judgement(unapproved="wait"))
    box = Toolbox([listing_of("files", "read", prefix=""), waiting])

    assert box.resolve("read").spec.key.server == "files"
    assert {spec.key.server: spec.status for spec in box.all_specs()} == {"files": "exposed", "new": "quarantined"}
