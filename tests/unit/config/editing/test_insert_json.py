"""A server put into a JSON file's text."""

import json
from typing import Any

import pytest

from bascule.config.editing.errors import Unsafe
from bascule.config.editing.insert_json import json_with
from bascule.config.loading.document import plain_json

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "pkg@1.2.3"]}

NEW = """\
    "new": {
      "command": "npx",
      "args": [
        "-y",
        "pkg@1.2.3"
      ]
    }"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{\n  "mcpServers": {\n    "a": {"command": "a"}\n  },\n  "other": 1\n}\n',
            f'{{\n  "mcpServers": {{\n    "a": {{"command": "a"}},\n{NEW}\n  }},\n  "other": 1\n}}\n',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {"command": "a"}, // mine, {"x"\n  },\n}',
            f'{{\n  "mcpServers": {{\n    "a": {{"command": "a"}},\n{NEW}, // mine, {{"x"\n  }},\n}}',
        ),
        ('{\n  "mcpServers": {}\n}', f'{{\n  "mcpServers": {{\n{NEW}\n  }}\n}}'),
        ('{\n  "mcpServers": { /* none */ }\n}', f'{{\n  "mcpServers": {{ /* none */\n{NEW}\n  }}\n}}'),
        ("{}", '{\n  "mcpServers": {\n' + NEW + "\n  }\n}"),
        ('{\n  "other": 1\n}', '{\n  "other": 1,\n  "mcpServers": {\n' + NEW + "\n  }\n}"),
    ],
)
def test_everything_else_stays_where_it_was(before: str, after: str):
    assert json_with(before, "mcpServers", "new", ENTRY) == after


def test_a_file_on_one_line_stays_on_it():
    after = json_with('{"mcpServers": {"a": {"command": "a"}}}', "mcpServers", "new", ENTRY)

    assert "\n" not in after
    assert json.loads(after) == {"mcpServers": {"a": {"command": "a"}, "new": ENTRY}}


def test_servers_at_the_root_get_one_more():
    assert json.loads(json_with('{"a": {"command": "a"}}', None, "new", ENTRY)) == {"a": {"command": "a"}, "new": ENTRY}


def test_one_of_this_name_is_replaced_in_its_place():
    before = '{\n  "mcpServers": {\n    "new": {"command": "old"}, // mine\n    "b": {"command": "b"}\n  }\n}'
    after = json_with(before, "mcpServers", "new", ENTRY, replace=True)

    assert "// mine" in after
    assert [*json.loads(plain_json(after))["mcpServers"].items()] == [("new", ENTRY), ("b", {"command": "b"})]


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', '{"mcpServers": "x"}'])
def test_what_is_no_object_is_not_changed(text: str):
    with pytest.raises(Unsafe):
        json_with(text, "mcpServers", "new", ENTRY)
