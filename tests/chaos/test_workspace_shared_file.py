"""Concurrent writes of two calls to one workspace file, in every order: the undo of a failed call loses no write of a call
that was reported as kept."""

import os
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import IO

import pytest

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import Ending, Transaction
from bascule.workspace import Workspace
from bascule.workspace.confined_root import ConfinedRoot
from support.workspaces import in_call, slots

STEPS = 4
"""Open, write part 1, write part 2, close and end."""
ORDERS = [
    "".join("A" if at in chosen else "B" for at in range(2 * STEPS)) for chosen in combinations(range(2 * STEPS), STEPS)
]
"""All 70 orders of the steps of call A and call B."""
OLD = b"." * 64
PARTS = {"A": (b"<A, part one>", b"<A: the second, longer part>"), "B": (b"<B one>", b"<B two>")}
PLACES = {"A": 0, "B": 48}
"""Offsets at which the calls write if they do not append. Their parts do not overlap."""


@dataclass
class Ledger:
    """Parts that each call has written without an error, and the report of its end. Independent of the journal."""

    written: dict[str, list[bytes]] = field(default_factory=lambda: {"A": [], "B": []})
    cut: list[bytes] = field(default_factory=list[bytes])
    """Parts of B that the last truncation by A took away. They come back if B has written nothing since."""
    refused: dict[str, WorkspaceError] = field(default_factory=dict[str, WorkspaceError])
    ended: dict[str, Ending] = field(default_factory=dict[str, Ending])

    def kept(self, name: str) -> list[bytes]:
        return (self.written[name] or self.cut) if self.ended[name] is Ending.KEPT else []


Change = Callable[[Workspace, str, Ledger], Generator[None]]


def put(workspace: Workspace, file: IO[bytes], name: str, part: int, ledger: Ledger) -> None:
    data = PARTS[name][part]
    file.write(data)
    file.flush()
    ledger.written[name].append(data)
    with workspace.open(f"own {name}", "ab") as alone:
        alone.write(data)


def appends(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    with workspace.open("f", "ab") as file:
        for part in (0, 1):
            yield
            put(workspace, file, name, part, ledger)
        yield


def overwrites(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    with workspace.open("f", "r+b") as file:
        file.seek(PLACES[name])
        for part in (0, 1):
            yield
            put(workspace, file, name, part, ledger)
        yield


def truncates(workspace: Workspace, _name: str, ledger: Ledger) -> Generator[None]:
    with workspace.open("f", "r+b") as file:
        for size in (10, 2):
            yield
            file.truncate(size)
            ledger.cut, ledger.written["B"] = ledger.written["B"], []
        yield


def renews(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    with workspace.open("f", "wb") as file:
        for part in (0, 1):
            yield
            file.seek(0, os.SEEK_END)
            put(workspace, file, name, part, ledger)
        yield


def replaces(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    for part in (0, 1):
        yield
        workspace.write_bytes("f", PARTS[name][part])
        ledger.written[name].append(PARTS[name][part])
    yield


def deletes_and_makes_anew(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    yield
    if workspace.exists("f"):
        workspace.delete("f")
    yield
    with workspace.open("f", "ab") as file:
        put(workspace, file, name, 1, ledger)
    yield


def renames_and_appends(workspace: Workspace, name: str, ledger: Ledger) -> Generator[None]:
    yield
    workspace.rename("f", "g")
    yield
    with workspace.open("g", "ab") as file:
        put(workspace, file, name, 1, ledger)
    yield


CHANGES: list[Change] = [appends, overwrites, truncates, renews, replaces, deletes_and_makes_anew, renames_and_appends]


@pytest.fixture(params=[True, False], ids=["exchanging", "copying"])
def exchanging(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """False: a system that cannot exchange two files in one step."""
    if not request.param:
        monkeypatch.setattr(ConfinedRoot, "swap", lambda *_: False)
    return request.param


def play(home: Path, order: str, changes: dict[str, Change], keep: dict[str, bool]) -> Ledger:
    """Carries out the steps of both calls in this order, and ends each call as asked; a call whose change raised, as a
    failed one."""
    ledger = Ledger()
    with Workspace(home / order) as workspace:
        for path in ("f", "own A", "own B"):
            workspace.write_bytes(path, OLD)
        calls = {name: Transaction() for name in changes}
        running = {name: change(workspace, name, ledger) for name, change in changes.items()}
        left = dict.fromkeys(changes, STEPS)
        for name in order:
            left[name] -= 1
            with in_call(calls[name]):
                step(running[name], name, ledger)
            if not left[name]:
                kept = keep[name] and name not in ledger.refused
                ledger.ended[name], _ = calls[name].commit() if kept else calls[name].rollback()
        assert slots(home / order) == []
    return ledger


def step(running: Generator[None], name: str, ledger: Ledger) -> None:
    try:
        next(running, None)
    except WorkspaceError as error:
        ledger.refused[name] = error


def lost(home: Path, ledger: Ledger) -> list[bytes]:
    """Parts that a kept call wrote and that are in no file, or twice in one. A file that was renamed may be in two."""
    files = [path.read_bytes() for path in (home / "files").iterdir() if path.name in {"f", "g"}]
    parts = [part for name in ledger.ended for part in ledger.kept(name)]
    return [part for part in parts if sorted({content.count(part) for content in files} | {0}) != [0, 1]]


def own(home: Path, name: str) -> bytes:
    return (home / "files" / f"own {name}").read_bytes()


@pytest.mark.parametrize("kept", [appends, overwrites])
@pytest.mark.parametrize("failing", CHANGES)
def test_a_failed_call_takes_no_write_of_a_kept_one_along(
    tmp_path: Path, failing: Change, kept: Change, exchanging: bool
):
    ledgers = {order: play(tmp_path, order, {"A": failing, "B": kept}, {"A": False, "B": True}) for order in ORDERS}

    assert {order: lost(tmp_path / order, ledger) for order, ledger in ledgers.items()} == {
        order: [] for order in ORDERS
    }
    assert {own(tmp_path / order, "A") for order in ORDERS} == {OLD}
    for order, ledger in ledgers.items():
        whole = OLD + b"".join(PARTS["B"]) if ledger.ended["B"] is Ending.KEPT else OLD
        assert own(tmp_path / order, "B") == whole
    rejected = {order: ledger.refused["B"] for order, ledger in ledgers.items() if "B" in ledger.refused}
    assert len(rejected) < len(ORDERS)
    # A call that writes the file itself, or replaces it in one step, costs no other call a write.
    if failing in {deletes_and_makes_anew, renames_and_appends} or (failing in {renews, replaces} and not exchanging):
        assert all(re.search("is lost|was not found", error.message) for error in rejected.values())
    else:
        assert rejected == {}


@pytest.mark.parametrize("second", [appends, overwrites])
@pytest.mark.parametrize("first", CHANGES)
@pytest.mark.usefixtures("exchanging")
def test_if_both_calls_fail_nothing_has_changed(tmp_path: Path, first: Change, second: Change):
    for order in ORDERS:
        play(tmp_path, order, {"A": first, "B": second}, {"A": False, "B": False})
        files = {path.name: path.read_bytes() for path in (tmp_path / order / "files").iterdir()}
        assert files == dict.fromkeys(("f", "own A", "own B"), OLD), order
