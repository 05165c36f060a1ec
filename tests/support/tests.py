"""The tests there are, by their names."""

import ast
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]


@cache
def names_in(file: str) -> frozenset[str]:
    """The tests of a file, which is named from the folder of all tests."""
    path = TESTS / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    made = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in made if name.startswith("test_"))


def is_there(test: str) -> bool:
    """Whether there is a test called `folder/file.py::test_…`."""
    file, _, name = test.partition("::")
    return name in names_in(file)
