"""`bascule read`."""

from pathlib import Path

import pytest

from bascule.cli.commands.read import as_shape
from bascule.cli.parser.command_table import build_parser
from bascule.core.outcome import FailureKind, ResourceResult, ToolFailure
from bascule.core.sensitivity import Lane
from support.command import bascule, configured
from support.offers import command_of, offering


def test_a_result_has_its_documented_shape():
    contents = [{"uri": "a://1", "text": "hi"}]
    assert as_shape(ResourceResult({"contents": contents}, "files", "a://1", Lane.OPEN, {"send": 0.5})) == {
        "ok": True,
        "text": "hi",
        "contents": contents,
        "server": "files",
        "uri": "a://1",
        "lane": "open",
        "ms": 500.0,
        "steps": {"send": 500.0},
    }
    assert as_shape(ToolFailure(FailureKind.DENIED, "BSC-300", "no")).get("kind") == "denied"


@pytest.mark.long
async def test_a_resource_is_read_by_the_command(tmp_path: Path):
    file = configured(tmp_path, work=command_of(offering(tmp_path, uris=("a://1",))))
    ran = await bascule(tmp_path, "read", "a://1", "--config", file)
    assert (ran.code, ran.out) == (0, "of work\n")
    named = await bascule(tmp_path, "read", "b://1", "--server", "work", "--json", "--config", file)
    assert (named.json["ok"], named.json["uri"]) == (True, "b://1")
    unknown = await bascule(tmp_path, "read", "b://1", "--config", file)
    assert unknown.code == 2
    assert "BSC-203" in unknown.err


def test_a_resource_may_be_asked_of_one_server():
    options = build_parser().parse_args(["read", "a://b", "--server", "files", "--timeout", "2"])
    assert (options.uri, options.server, options.timeout) == ("a://b", "files", 2.0)
