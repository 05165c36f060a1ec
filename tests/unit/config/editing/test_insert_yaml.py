"""A server put into a YAML file's text."""

from typing import Any

import pytest
import yaml

from bascule.config.editing.errors import Unsafe
from bascule.config.editing.insert_yaml import scalar, written, yaml_with

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "pkg@1.2.3", "a b"], "env": {"KEY": "${KEY}"}}
LINES = """\
  new:
    command: npx
    args: [-y, pkg@1.2.3, "a b"]
    env:
      KEY: "${KEY}"
"""


def test_it_is_written_as_people_write_it():
    assert written("new", ENTRY, "  ") == LINES


@pytest.mark.parametrize(
    "text",
    ["", "a b", "true", "null", "7", "1.5", "#x", "a: b", "- x", "{a}", "é", 'say "hi"', "a\nb", "*x", "@a", "~"],
)
def test_whatever_a_text_is_it_is_read_back_as_such(text: str):
    for form in (f"k: {scalar(text)}", f"k: [{scalar(text)}]"):
        (found,) = yaml.safe_load(form).values()
        assert found in (text, [text])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"mcp_servers:\n{LINES}"),
        ("# mine\n", f"# mine\n\nmcp_servers:\n{LINES}"),
        ("links: {max: 5}\n", f"links: {{max: 5}}\n\nmcp_servers:\n{LINES}"),
        ("mcp_servers:\n", f"mcp_servers:\n{LINES}"),
        ("mcp_servers:", f"mcp_servers:\n{LINES}"),
        ("mcp_servers: {}  # none yet\nstore: x.db\n", f"mcp_servers:   # none yet\n{LINES}store: x.db\n"),
        ("mcp_servers: null\n", f"mcp_servers:\n{LINES}"),
        (
            "mcp_servers:\n  old:  # mine\n    command: a\n\n# settings\nstore: x.db\n",
            f"mcp_servers:\n  old:  # mine\n    command: a\n{LINES}\n# settings\nstore: x.db\n",
        ),
        (
            "mcp_servers:\n  old:\n    command: a\n    # env: {}\n  # other:\n  #   command: b\n# end\n",
            f"mcp_servers:\n  old:\n    command: a\n    # env: {{}}\n  # other:\n  #   command: b\n{LINES}# end\n",
        ),
        ("mcp_servers:\n  old: {command: a}", f"mcp_servers:\n  old: {{command: a}}\n{LINES}"),
    ],
)
def test_everything_else_stays_where_it_was(before: str, after: str):
    assert yaml_with(before, "new", ENTRY) == after


def test_it_stands_as_deep_as_its_neighbours():
    before = "mcp_servers:\n      old:\n        command: a\n"

    assert yaml_with(before, "new", {"command": "b"}) == f"{before}      new:\n        command: b\n"


def test_a_text_of_several_lines_at_the_end_is_not_cut():
    before = "mcp_servers:\n  old:\n    command: a\n    instructions: |\n      # one\n      # two\n"
    after = yaml_with(before, "new", {"command": "b"})

    assert after.startswith(before)
    assert yaml.safe_load(after)["mcp_servers"]["old"] == yaml.safe_load(before)["mcp_servers"]["old"]


@pytest.mark.parametrize(
    "before",
    [
        'mcp_servers: {"old": {"command": "a"}}\n',
        '{"mcp_servers": {"old": {"command": "a"}}, "store": "x.db"}\n',
        "mcp_servers: {\n  old: {command: a},  # mine\n}\n",
        "mcp_servers: {old: {command: a,},}\n",
    ],
)
def test_servers_in_braces_get_one_more(before: str):
    after = yaml_with(before, "new", ENTRY)

    assert yaml.safe_load(after)["mcp_servers"] == {"old": {"command": "a"}, "new": ENTRY}
    assert ("# mine" in before) == ("# mine" in after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "mcp_servers:\n  # one\n  new:  # gone\n    command: old\n    # gone\n\n  # two\n  b: {command: b}\n",
            f"mcp_servers:\n  # one\n{LINES}\n  # two\n  b: {{command: b}}\n",
        ),
        ("mcp_servers:\n  new: {command: old}\nstore: x.db\n", f"mcp_servers:\n{LINES}store: x.db\n"),
    ],
)
def test_one_of_this_name_is_replaced_in_its_place(before: str, after: str):
    assert yaml_with(before, "new", ENTRY, replace=True) == after


def test_one_in_braces_is_replaced_too():
    after = yaml_with("mcp_servers: {new: {command: a}, b: {command: b}}\n", "new", ENTRY, replace=True)

    assert yaml.safe_load(after)["mcp_servers"] == {"new": ENTRY, "b": {"command": "b"}}


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- b\n",
        "{store: x.db}\n",
        "servers: &s {a: {command: b}}\nmcp_servers: *s\n",
        "mcp_servers: [a]\n",
        "mcp_servers: text\n",
    ],
)
def test_what_cannot_be_done_safely_is_not_done(text: str):
    with pytest.raises(Unsafe):
        yaml_with(text, "new", ENTRY)
