"""The two tools that stand for all."""

from bascule.catalog.digest import tool_digest
from bascule.catalog.search.meta_tools import CALL, MOST_NAMED, SEARCH, search_pair
from bascule.core.permission import READING, UNDECLARED
from bascule.core.tool import ToolStatus


def test_they_are_catalogued_like_every_other_tool():
    for entry, name in zip(search_pair(("files",)), (SEARCH, CALL), strict=True):
        spec = entry.spec
        assert (spec.name, spec.key.tool, spec.status) == (name, name, ToolStatus.EXPOSED)
        assert spec.digest == tool_digest(entry.definition)
        assert entry.arguments is not None
        assert (spec.notes, spec.findings, spec.problem) == ((), (), "")


def test_to_search_only_reads_and_to_call_may_do_anything():
    searching, calling = search_pair()

    assert searching.spec.permissions == READING
    assert calling.spec.permissions == UNDECLARED


def test_a_model_is_told_whose_tools_there_are():
    assert "files, github" in search_pair(("files", "github"))[0].spec.description
    assert "There are tools of" not in search_pair()[0].spec.description


def test_of_a_hundred_servers_some_are_named():
    servers = tuple(f"server-{at:03}" for at in range(100))
    description = search_pair(servers)[0].spec.description

    assert f"server-{MOST_NAMED - 1:03}, …" in description
    assert f"server-{MOST_NAMED:03}" not in description
