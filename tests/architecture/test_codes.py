"""Every kind of error has a code of its own: one that two share says nothing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/bascule"


def codes() -> Iterator[tuple[str, str]]:
    """Each code that a class has, with the class."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield from ((code, f"{path.relative_to(SOURCE)}: {node.name}") for code in _codes_of(node))


def _codes_of(node: ast.ClassDef) -> Iterator[str]:
    for line in node.body:
        match line:
            case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                yield code
            case ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant(value=str(code))):
                yield code
            case _:
                pass


def test_no_two_errors_share_a_code():
    found = defaultdict[str, list[str]](list)
    for code, holder in codes():
        if code.startswith("BSC-"):
            found[code].append(holder)

    assert len(found) > 30, "the codes are no longer found"
    assert {code: holders for code, holders in found.items() if len(holders) > 1} == {}
