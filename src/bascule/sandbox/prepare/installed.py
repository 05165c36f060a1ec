"""Program of a fetched package, found as npx and uvx find it. Layers are untrusted: no link that leads out of one is
followed."""

import json
from pathlib import Path
from typing import Any

from bascule.core.errors import SandboxError
from bascule.core.json_types import as_object
from bascule.files.regular_file import read_regular
from bascule.sandbox.prepare.fetch_box import ENVIRONMENT
from bascule.sandbox.prepare.package import Package

LONGEST_DESCRIPTION = 4 * 1024 * 1024

FOLDERS = {"npm": "node_modules/.bin", "python": f"{ENVIRONMENT}/bin"}
"""Where a layer has its programs."""


def program_in(tree: Path, package: Package) -> str:
    """The program's path from the layer on."""
    folder = FOLDERS[package.kind]
    binary = package.binary or _only_binary(tree, package)
    path = tree / folder / binary
    # The interpreter of an environment is a link to that of this machine.
    if path.is_file() and (_is_in(tree, path) or (package.kind == "python" and binary.startswith("python"))):
        return f"{folder}/{binary}"
    there = sorted(each.name for each in (tree / folder).glob("*")) if _is_in(tree, tree / folder) else []
    raise SandboxError(
        f"{package.described} has no program called {binary}",
        where="prepare",
        evidence=f"it has {', '.join(there[:20]) or 'none'}",
        fix="name one of these behind --package (npx), --from (uvx) or --spec (pipx)",
    )


def _only_binary(tree: Path, package: Package) -> str:
    """Of one program, that; of several, the one that is called like the package."""
    name = next(iter(as_object(_description(tree, "package.json").get("dependencies"))), "")
    described = _description(tree, f"node_modules/{name}/package.json") if name else {}
    plain = name.rpartition("/")[2]
    programs = described.get("bin")
    if isinstance(programs, str):
        return plain
    known = as_object(programs)
    if known and len(set(map(str, known.values()))) == 1:
        return _plain(next(iter(known)))
    if plain in known:
        return plain
    raise SandboxError(
        f"{package.described} does not say which of its programs is to be run",
        where="prepare",
        evidence=f"it has {', '.join(sorted(known)[:20]) or 'none'}",
        fix="name one: `npx --package=… the-program`",
    )


def _plain(name: str) -> str:
    """npm installs a program of a scope under its last name."""
    return name.rpartition("/")[2]


def _description(tree: Path, name: str) -> dict[str, Any]:
    path = tree / name
    try:
        if not _is_in(tree, path) or path.stat().st_size > LONGEST_DESCRIPTION:
            return {}
        said: Any = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return as_object(said)


def _is_in(tree: Path, path: Path) -> bool:
    return path.resolve().is_relative_to(tree.resolve())
