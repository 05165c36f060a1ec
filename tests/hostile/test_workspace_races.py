"""Names that come to mean something else while they are used."""

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bascule.core.errors import WorkspaceError
from bascule.workspace import Workspace
from bascule.workspace.openat import Engine
from support.workspaces import ENGINES, OUTSIDE_ONLY, SECRET, canary, texts, tree

FLIPPER = Path(__file__).with_name("flipper.py")


@contextmanager
def flipping(role: str, files: Path, outside: Path, seconds: float) -> Generator[None]:
    command = [sys.executable, str(FLIPPER), role, str(files), str(outside), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as flipper:
        try:
            assert flipper.stdout is not None
            assert flipper.stdout.readline() == "ready\n"
            yield
            assert flipper.wait(60) == 0
        finally:
            flipper.kill()


def read(workspace: Workspace, path: str) -> str:
    with workspace.open(path) as file:
        return file.read()


def append(workspace: Workspace, path: str) -> str:
    with workspace.open(path, "a") as file:
        file.write("mine")
    return ""


def overwrite(workspace: Workspace, path: str) -> str:
    with workspace.open(path, "w") as file:
        file.write("mine")
    return ""


def listing(workspace: Workspace, path: str) -> str:
    return " ".join(entry.name for entry in workspace.list(path if path == "d" else "d"))


def replace(workspace: Workspace, path: str) -> str:
    workspace.write_text(path, "mine")
    return ""


def delete(workspace: Workspace, path: str) -> str:
    workspace.delete(path)
    return ""


def rename(workspace: Workspace, path: str) -> str:
    workspace.rename(path, "moved")
    return ""


ACTS: tuple[Callable[[Workspace, str], str], ...] = (
    *(read, read, read, append, overwrite, replace, listing, delete, rename),
)
NAMES = {"folders": ["d/secret.txt", "d/sub/f", "d/new", "f"], "hard_links": ["h"]}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("roles", [("folders", "hard_links"), ("folders", "folders"), ("hard_links", "hard_links")])
@pytest.mark.long
def test_no_race_of_names_leads_out(engine: type[Engine], roles: tuple[str, ...], tmp_path: Path, scale: int):
    seed = random.SystemRandom().randrange(2**32)
    chance, seconds = random.Random(seed), 0.35 if scale == 1 else 10.0
    outside = tmp_path / "outside"
    before = canary(outside)
    with Workspace(tmp_path / "home", engine=engine()) as workspace, ExitStack() as flippers:
        files = tmp_path / "home" / "files"
        workspace.write_text("d/secret.txt", "inside")
        ends = time.monotonic() + seconds + 0.2
        for role in roles:
            flippers.enter_context(flipping(role, files, outside, seconds))
        names = [name for role in roles for name in NAMES[role]]
        counts = raced(workspace, names, chance, ends)

    assert counts["escaped"] == 0, f"seed {seed}: {counts}"
    assert counts["shown"] == 0, f"seed {seed}: {counts}"
    assert tree(outside) == before, f"seed {seed}"
    assert (outside / "secret.txt").stat().st_nlink == 1
    # Both ends of the race were met.
    assert counts["done"] > 0
    assert counts["refused"] > 0


def raced(workspace: Workspace, names: list[str], chance: random.Random, ends: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    while time.monotonic() < ends:
        act, name = chance.choice(ACTS), chance.choice(names)
        try:
            found = act(workspace, name)
        except WorkspaceError as error:
            counts["refused"] += 1
            counts["shown"] += any("outside" in text and "leads out" not in text for text in texts(error))
        else:
            counts["done"] += 1
            if SECRET in found or OUTSIDE_ONLY in found:
                counts[f"escaped by {act.__name__} of {name}"] += 1
                counts["escaped"] += 1
            if act is rename:
                counts["escaped"] += SECRET in moved_back(workspace)
    return counts


def moved_back(workspace: Workspace) -> str:
    """What a rename has brought is read as well: it must not be outside by another name."""
    try:
        found = workspace.read_text("moved")
    except WorkspaceError:
        found = ""
    workspace.delete("moved")
    return found
