"""Every kind of error has a code of its own, which the catalogue names: one that two share, or that nobody can look up,
says nothing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bascule.core.error_codes import CODES

SOURCE = Path(__file__).parents[2] / "src/bascule"
CATALOGUE = SOURCE / "core" / "error_codes.py"


@cache
def texts() -> dict[Path, bytes]:
    """Every file of ours."""
    return {path: path.read_bytes() for path in sorted(SOURCE.rglob("*.py"))}


def nodes(*words: bytes) -> Iterator[tuple[Path, ast.AST]]:
    """All of each file that has one of these words: reading the others costs seconds, and they have nothing."""
    for path, text in texts().items():
        if any(word in text for word in words):
            yield from ((path, node) for node in ast.walk(ast.parse(text)))


@cache
def codes() -> tuple[tuple[str, str], ...]:
    """Each code, with the class or constant that bears it."""
    return tuple(_found())


def _found() -> Iterator[tuple[str, str]]:
    for path, node in nodes(b"BSC-"):
        match node:
            case ast.ClassDef(body=body) | ast.Module(body=body):
                holder = node.name if isinstance(node, ast.ClassDef) else ""
                yield from ((code, f"{path.relative_to(SOURCE)}: {holder or name}") for name, code in _named(body))
            case _:
                pass


def _named(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for line in body:
        match line:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(code))):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(code))):
                pass
            case _:
                continue
        if re.fullmatch(r"BSC-\d+", code):
            yield name, code


def test_no_two_errors_share_a_code():
    found = defaultdict[str, list[str]](list)
    for code, holder in codes():
        found[code].append(holder)

    assert len(found) > 30, "the codes are no longer found"
    assert {code: holders for code, holders in found.items() if len(holders) > 1} == {}


def test_the_catalogue_names_every_code_and_no_other():
    assert {code for code, _ in codes()} == {*CODES}


def test_a_family_of_errors_is_never_raised_itself():
    """It has no code, so nobody could look it up."""
    families = {"PeerError", "McpError"}
    made = {
        node.func.id
        for _, node in nodes(b"ConnectFailed(", *(f"{family}(".encode() for family in families))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert "ConnectFailed" in made, "what is raised is no longer found"
    assert made & families == set()


def test_a_code_is_written_out_only_where_it_is_borne_and_in_the_catalogue():
    """Elsewhere the class is named: a code that is written twice can be changed once."""
    borne = {SOURCE / place.partition(":")[0] for _, place in codes()}
    elsewhere = [
        str(path.relative_to(SOURCE))
        for path, node in nodes(b"BSC-")
        if path not in {*borne, CATALOGUE}
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"BSC-\d+", node.value)
    ]

    assert elsewhere == []
