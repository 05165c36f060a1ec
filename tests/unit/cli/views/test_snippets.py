"""The programs that are printed."""

import ast

import pytest

from bascule.cli.views.snippets import SNIPPETS, filled

ODD = """it's "odd" \\ and\nlong"""


@pytest.mark.parametrize("framework", SNIPPETS)
def test_every_program_is_python_whatever_is_filled_in(framework: str):
    text = filled(SNIPPETS[framework].text, config=ODD, tool=ODD, arguments={ODD: [ODD, True, None]}, prompt=ODD)

    assert "@" not in text
    values = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    assert ODD in values


def test_the_usual_quotes_are_used_where_they_can_be():
    assert filled("@TOOL@ @ARGUMENTS@", tool="a", arguments={"b": "c"}) == '"a" {"b": "c"}'
