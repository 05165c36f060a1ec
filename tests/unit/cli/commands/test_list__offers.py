"""What servers offer beside tools, as `bascule list` shows it."""

import argparse
from pathlib import Path

import pytest

from bascule.catalog.resources import Library, ServerOffers
from bascule.cli.commands.list import add_offers, wanted
from bascule.cli.json_output.listings import ListShape
from bascule.core.resource import ResourceSpec
from support.command import bascule, configured
from support.offers import command_of, offering

BOTH = frozenset({"resources", "prompts"})


def test_only_what_was_asked_for_is_wanted():
    assert wanted(argparse.Namespace(resources=True, prompts=False)) == {"resources"}
    assert wanted(argparse.Namespace(resources=False, prompts=False)) == frozenset()


def test_a_resource_has_its_documented_shape():
    spec = ResourceSpec("notes", "resource", "sha256:0", uri="a://1", name="one", size=3)
    shape: ListShape = {"servers": [], "tools": []}
    add_offers(shape, Library([ServerOffers("notes", {"a://1": spec}, problems=("odd",))]), BOTH)
    assert shape == {
        "servers": [],
        "tools": [],
        "problems": ["notes: odd"],
        "resources": [
            {
                "server": "notes",
                "kind": "resource",
                "uri": "a://1",
                "uri_template": None,
                "name": "one",
                "title": None,
                "description": "",
                "mime_type": None,
                "size": 3,
                "digest": "sha256:0",
                "findings": [],
            }
        ],
        "prompts": [],
    }


@pytest.mark.long
async def test_the_command_lists_them_only_when_asked(tmp_path: Path):
    greet = {"name": "greet", "description": "Greets \x1b[31m.", "arguments": [{"name": "who", "required": True}]}
    server = offering(tmp_path, uris=("a://1",), templates=("a://{n}",), prompts=(greet,))
    file = configured(tmp_path, work=command_of(server))
    plain = await bascule(tmp_path, "list", "--json", "--config", file)
    assert set(plain.json) == {"servers", "tools"}
    shown = await bascule(tmp_path, "list", "--resources", "--prompts", "--config", file)
    assert shown.code == 0
    for words in ("a://1", "resource of work", "a://{n}", "template of work", "work_greet", "prompt(who) Greets"):
        assert words in shown.out
    assert "\x1b" not in shown.out
    told = await bascule(tmp_path, "list", "--prompts", "--json", "--config", file)
    (prompt,) = told.json["prompts"]
    assert (prompt["name"], prompt["prompt"], prompt["status"]) == ("work_greet", "greet", "exposed")
    assert prompt["arguments"] == [{"name": "who", "description": "", "required": True}]
    assert "resources" not in told.json
