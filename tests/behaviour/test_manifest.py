"""The manifest and the tests agree: no row that is due is without a test, no test without a row."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from behaviour.manifest import MILESTONE, ROWS

HERE = Path(__file__).parent
AGREED = HERE.parents[2] / "shared/requirements.md"
"""The agreed list of requirements, beside a checkout of the developers. Rows may be ahead of it: a new behaviour gets
its row first."""


def marker_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Every `pytest.mark.requirement(…)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="requirement")):
                yield node
            case _:
                pass


def marked_ids() -> dict[str, list[str]]:
    """The ids in markers, each with the places that carry it. Read from the source, whatever pytest was asked to run."""
    found: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("**/test_*.py")):
        for call in marker_calls(ast.parse(path.read_bytes())):
            for argument in call.args:
                named = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
                found.setdefault(str(named), []).append(f"{path.name}:{argument.lineno}")
    return found


PUBLIC = re.compile(r"bascule(\.config|\.kit|\.testing|\.workspace|\.core(\.\w+)+|\.bridges\.\w+)?")
"""What a user imports from."""

INSIDE = {"ratchet_of", "roster_of", "staged"}
"""What the tests' own support offers for looking inside."""


def imports_in(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Every module imported, the name taken from it, and the line."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, "", node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((module, alias.name, node.lineno) for alias in names)
            case _:
                pass


def test_behaviour_is_met_through_the_public_api_only():
    found = [
        f"{path.name}:{line}: {module} {name}"
        for path in sorted(HERE.glob("**/test_*.py"))
        for module, name, line in imports_in(ast.parse(path.read_bytes()))
        if (module.split(".")[0] == "bascule" and not PUBLIC.fullmatch(module)) or name in INSIDE
    ]

    assert not found, "a user does not have this:\n  " + "\n  ".join(found)


def test_every_row_that_is_due_has_a_test():
    marked = marked_ids()
    missing = [f"{row.id} ({row.says})" for row in ROWS if row.due <= MILESTONE and row.id not in marked]

    assert not missing, "due, but no test carries the id:\n  " + "\n  ".join(missing)


def test_every_marker_has_a_row():
    known = {row.id for row in ROWS}
    strays = [f"{named!r} at {', '.join(places)}" for named, places in marked_ids().items() if named not in known]

    assert not strays, "no row has this id (a marker takes string literals only):\n  " + "\n  ".join(strays)


def test_an_id_names_one_row():
    assert [named for named, count in Counter(row.id for row in ROWS).items() if count > 1] == []


def test_every_row_is_due_at_some_milestone():
    assert [row.id for row in ROWS if row.due not in range(1, 11)] == []


def test_every_agreed_requirement_has_a_row():
    if AGREED.is_file():
        agreed = set(re.findall(r"^\| ([A-Z]+-\d+) \|", AGREED.read_text(encoding="utf-8"), re.MULTILINE))
        assert agreed <= {row.id for row in ROWS}
