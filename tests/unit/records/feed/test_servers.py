"""Restarts and the last failure of each server."""

from bascule.core.events import LinkChanged
from bascule.core.sensitivity import Lane
from bascule.records.feed.servers import ServerNotes
from support.links import ALICE


def change(state: str, at: float, code: str = "") -> LinkChanged:
    return LinkChanged("work", Lane.OPEN, ALICE, state, f"why {state}", at, code)


def test_a_link_that_is_opened_again_after_a_failure_is_a_restart():
    notes = ServerNotes()
    for at, state in enumerate(("connecting", "ready", "failed", "connecting", "ready", "closed", "connecting")):
        notes.note(change(state, at, "BSC-402" if state == "failed" else ""))

    note = notes.of("work")
    assert (note.restarts, note.code, note.reason, note.failed, note.changed) == (1, "BSC-402", "why failed", 2, 6)


def test_what_was_removed_is_forgotten():
    notes = ServerNotes()
    notes.note(change("failed", 1))
    notes.forget(["work"])
    notes.note(change("connecting", 2))
    assert (notes.of("work").restarts, notes.of("work").failed, notes.of("none").restarts) == (0, None, 0)
