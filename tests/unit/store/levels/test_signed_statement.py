"""What a witness states, whether it can be believed, and what two of them are worth together."""

from typing import Any

import pytest
from msgspec.structs import replace

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import signed_statement
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import (
    UNREADABLE,
    DatasetStatement,
    RuntimeStatement,
    Statement,
    Witnessed,
    evaluate,
    later,
    read_dataset,
    read_runtime,
    read_statement,
    seal,
)

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
KEY = b"k" * 32
ALICE = Principal("alice", "s-1")
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)


def judged(row: Witnessed, line: Witnessed, *datasets: Any) -> SessionRecord:
    record = evaluate(ALICE, row, line, datasets)
    assert record is not None
    return record


@pytest.mark.parametrize("statement", [BEGUN, RAISED, replace(RAISED, user_id="ü\u2028/../", ended=True, doubt="why")])
def test_a_statement_is_read_as_it_was_sealed_and_is_one_line(statement: Statement):
    sealed = seal(statement, KEY)

    assert read_statement(sealed, KEY) == statement
    assert b"\n" not in sealed


def test_a_statement_with_any_byte_altered_is_unreadable():
    sealed = seal(RAISED, KEY)

    for place in range(len(sealed)):
        for bit in (1, 0x80):
            altered = bytearray(sealed)
            altered[place] ^= bit
            assert read_statement(bytes(altered), KEY) is UNREADABLE


def test_a_statement_cut_anywhere_is_unreadable():
    sealed = seal(RAISED, KEY)

    assert {read_statement(sealed[:length], KEY) for length in range(len(sealed))} == {UNREADABLE}


@pytest.mark.parametrize("found", [None, 7, 1.5, "text", b"", b" ", b"0" * 64])
def test_what_a_damaged_database_gives_back_is_unreadable(found: object):
    assert read_statement(found, KEY) is UNREADABLE


def test_a_statement_under_another_key_is_unreadable():
    assert read_statement(seal(RAISED, KEY), b"other" * 7) is UNREADABLE


def test_a_statement_on_a_dataset_is_none_on_an_agent_session():
    assert read_dataset(seal(NOTES, KEY), KEY) == NOTES
    assert read_statement(seal(NOTES, KEY), KEY) is UNREADABLE
    assert read_dataset(seal(RAISED, KEY), KEY) is UNREADABLE


def test_a_statement_of_a_runtime_is_none_on_a_session_and_the_reverse():
    one = RuntimeStatement("one", 7, "f7")

    assert read_runtime(seal(one, KEY), KEY) == one
    assert read_statement(seal(one, KEY), KEY) is UNREADABLE
    assert read_dataset(seal(one, KEY), KEY) is UNREADABLE
    assert read_runtime(seal(RAISED, KEY), KEY) is UNREADABLE


def test_an_honest_word_that_this_version_does_not_understand_is_unreadable():
    body = b'["alice","s-1",9,1,false,5.0]'

    assert read_statement(signed_statement._mac(body, Statement, KEY) + b" " + body, KEY) is UNREADABLE


def test_what_neither_witness_knows_has_not_begun():
    assert evaluate(ALICE, None, None) is None


def test_two_witnesses_who_agree_are_believed():
    assert judged(RAISED, RAISED, NOTES) == SessionRecord(ALICE, CONFIDENTIAL, 1, False, {"notes": CONFIDENTIAL}, 5.0)


@pytest.mark.parametrize("row", [None, BEGUN])
def test_a_line_ahead_of_its_row_is_believed(row: Witnessed):
    record = judged(row, RAISED)

    assert (record.level, record.epoch, record.doubt) == (CONFIDENTIAL, 1, "")


def test_a_later_line_may_lower_the_level():
    assert judged(RAISED, replace(BEGUN, epoch=2)).level is PUBLIC


def test_of_one_epoch_the_more_private_word_counts():
    other = replace(RAISED, level=INTERNAL, ended=True)

    for record in (judged(RAISED, other), judged(other, RAISED)):
        assert (record.level, record.ended, record.doubt) == (CONFIDENTIAL, True, "")


@pytest.mark.parametrize(
    ("row", "line", "doubt"),
    [
        (RAISED, BEGUN, signed_statement.JOURNAL_BEHIND),
        (RAISED, None, signed_statement.NO_JOURNAL),
        (UNREADABLE, RAISED, signed_statement.BAD_ROW),
        (UNREADABLE, None, signed_statement.BAD_ROW),
        (RAISED, UNREADABLE, signed_statement.BAD_LINE),
        (None, UNREADABLE, signed_statement.BAD_LINE),
        (UNREADABLE, UNREADABLE, signed_statement.BAD_ROW),
    ],
)
def test_witnesses_who_cannot_be_believed_make_it_secret(row: Witnessed, line: Witnessed, doubt: str):
    record = judged(row, line)

    assert (record.level, record.doubt) == (SECRET, doubt)


@pytest.mark.parametrize("dataset", [UNREADABLE, replace(NOTES, user_id="bob"), replace(NOTES, session_id="s-2")])
def test_a_dataset_that_cannot_be_read_makes_it_secret(dataset: Any):
    record = judged(RAISED, RAISED, NOTES, dataset)

    assert (record.level, record.doubt) == (SECRET, signed_statement.BAD_DATASET)
    assert record.datasets == {"notes": CONFIDENTIAL}


def test_datasets_of_which_no_witness_knows_make_it_secret():
    assert judged(None, None, NOTES).doubt == signed_statement.STRAY_DATASET


@pytest.mark.parametrize("other", [{"user_id": "bob"}, {"session_id": "s-2"}])
def test_a_true_word_on_somebody_else_is_not_believed(other: dict[str, str]):
    stranger = replace(BEGUN, epoch=9, **other)

    assert judged(stranger, RAISED).doubt == signed_statement.BAD_ROW
    assert judged(RAISED, stranger).doubt == signed_statement.BAD_LINE


def test_what_was_ended_stays_ended_in_doubt():
    record = judged(replace(RAISED, ended=True), BEGUN)

    assert (record.ended, record.since, record.epoch) == (True, 5.0, 1)


def test_a_doubt_that_was_written_down_stays():
    assert judged(*[replace(RAISED, level=SECRET, doubt="lost")] * 2).doubt == "lost"


def test_of_two_statements_the_later_one_holds():
    assert later(None, BEGUN) is BEGUN
    assert later(BEGUN, RAISED) is RAISED
    assert later(RAISED, BEGUN) is RAISED
    assert later(RAISED, replace(RAISED, level=INTERNAL, ended=True)) == replace(RAISED, ended=True)
