"""What one call has changed on our side: kept or undone, whatever single participants do."""

import asyncio

from bascule.core.errors import WorkspaceError
from bascule.core.undo.transaction import CURRENT, Ending, Transaction, current_transaction


class Part:
    """Writes down how it ended."""

    def __init__(self, told: list[str], name: str, error: Exception | None = None) -> None:
        self._told, self._name, self._error = told, name, error

    def commit(self) -> None:
        self._end("kept")

    def rollback(self) -> None:
        self._end("undone")

    def _end(self, how: str) -> None:
        self._told.append(f"{self._name} {how}")
        if self._error is not None:
            raise self._error


def test_without_changes_there_is_nothing_to_do():
    assert not Transaction().parts
    assert Transaction().commit() == Transaction().rollback() == (Ending.NOTHING, ())


def test_a_part_begins_once():
    told: list[str] = []
    transaction = Transaction()
    first = transaction.part("state", lambda: Part(told, "state"))

    assert transaction.part("state", lambda: Part(told, "another")) is first
    assert transaction.parts.keys() == {"state"}
    assert transaction.commit() == (Ending.KEPT, ())
    assert told == ["state kept"]


def test_changes_are_undone_the_last_participants_first():
    told: list[str] = []
    transaction = Transaction()
    for name in ("state", "files"):
        transaction.part(name, lambda name=name: Part(told, name))

    assert transaction.rollback() == (Ending.RESTORED, ())
    assert told == ["files undone", "state undone"]


def test_one_that_fails_does_not_keep_the_others_from_their_turn():
    told: list[str] = []
    for error, words in ((WorkspaceError("no room"), "no room"), (KeyError("x"), "a participant raised KeyError")):
        for end in (Transaction.commit, Transaction.rollback):
            transaction = Transaction()
            transaction.part("bad", lambda error=error: Part(told, "bad", error))
            transaction.part("good", lambda: Part(told, "good"))

            assert end(transaction) == (Ending.FAILED, (words,))
    assert len(told) == 8


async def test_what_a_task_starts_belongs_to_the_same_call_until_it_has_ended():
    async def seen() -> Transaction | None:
        return current_transaction()

    transaction = Transaction()
    token = CURRENT.set(transaction)
    assert await asyncio.create_task(seen()) is transaction
    transaction.rollback()

    assert await asyncio.create_task(seen()) is None
    CURRENT.reset(token)
    assert current_transaction() is None
