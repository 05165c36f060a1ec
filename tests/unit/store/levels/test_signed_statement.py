"""Signed statements: what is read back is what was sealed, with its kind, and nothing else."""

import pytest
from msgspec.structs import replace

from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import signed_statement
from bascule.store.levels.signed_statement import (
    FIRST,
    SETTLED,
    UNREADABLE,
    DatasetStatement,
    Line,
    RuntimeStatement,
    Statement,
    mac_of,
    read_dataset,
    read_line,
    read_runtime,
    read_statement,
    seal,
)

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
KEY = b"k" * 32
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)


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


@pytest.mark.parametrize("line", [Line(RAISED, "0" * 64), Line(BEGUN, FIRST), Line(RAISED, SETTLED, 7)])
def test_a_line_is_read_as_it_was_sealed(line: Line):
    assert read_line(seal(line, KEY), KEY) == line


def test_the_mac_covers_the_name_of_the_line_before():
    sealed = seal(Line(RAISED, "0" * 64), KEY)

    assert read_line(sealed.replace(b"0" * 64, b"1" * 64), KEY) is UNREADABLE


def test_a_line_of_version_0_1_0_is_a_bare_statement():
    assert read_line(seal(RAISED, KEY), KEY) == RAISED


def test_a_chained_line_is_no_row_and_a_dataset_no_line():
    assert read_statement(seal(Line(RAISED, FIRST), KEY), KEY) is UNREADABLE
    assert read_line(seal(NOTES, KEY), KEY) is UNREADABLE


@pytest.mark.parametrize("found", [None, 7, "text", b"", b"0" * 64, b"0" * 64 + b" [[", b"0" * 64 + b" ["])
def test_a_damaged_line_is_unreadable(found: object):
    assert read_line(found, KEY) is UNREADABLE


def test_a_line_is_named_by_its_mac():
    sealed = seal(Line(RAISED, FIRST), KEY)

    assert mac_of(sealed) == sealed.partition(b" ")[0].decode()
    assert mac_of(b"") == ""
    assert len(mac_of(b"\xff" * 70)) == 64


def test_a_statement_of_a_runtime_is_none_on_a_session_and_the_reverse():
    one = RuntimeStatement("one", 7, "f7")

    assert read_runtime(seal(one, KEY), KEY) == one
    assert read_statement(seal(one, KEY), KEY) is UNREADABLE
    assert read_dataset(seal(one, KEY), KEY) is UNREADABLE
    assert read_runtime(seal(RAISED, KEY), KEY) is UNREADABLE


def test_an_honest_word_that_this_version_does_not_understand_is_unreadable():
    body = b'["alice","s-1",9,1,false,5.0]'

    assert read_statement(signed_statement._mac(body, Statement, KEY) + b" " + body, KEY) is UNREADABLE
