"""Evidence on one agent session: the record that follows from it, and the damage that makes the level SECRET."""

from typing import Any

import pytest
from msgspec.structs import replace

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import evidence as evidence_module
from bascule.store.levels.evidence import (
    LARGEST,
    NO_LINES,
    NO_RECEIPTS,
    Evidence,
    LineChain,
    ReceiptEpochs,
    about_line,
    later,
)
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import (
    BROKEN,
    FIRST,
    SETTLED,
    UNREADABLE,
    DatasetStatement,
    Line,
    Statement,
    Witnessed,
    WitnessedLine,
)

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE = Principal("alice", "s-1")
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
WORSE = replace(BEGUN, level=SECRET, epoch=2)
LOWERED = replace(BEGUN, epoch=3)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)


def judged(
    row: Witnessed, lines: LineChain | Witnessed, *datasets: Any, receipts: ReceiptEpochs = NO_RECEIPTS
) -> SessionRecord:
    chain = lines if isinstance(lines, LineChain) else LineChain(lines)
    record = Evidence(ALICE, row, chain, datasets, receipts).record
    assert record is not None
    return record


def chain_of(*lines: WitnessedLine) -> LineChain:
    """Lines of which each has its place among the given ones as its MAC, from `a` on."""
    chain = NO_LINES
    for place, line in enumerate(lines):
        chain = chain.extend(line, "abcdefg"[place])
    return chain


# Row and line


def test_what_neither_witness_knows_has_not_begun():
    assert Evidence(ALICE, None).record is None


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
        (RAISED, BEGUN, evidence_module.JOURNAL_BEHIND),
        (RAISED, None, evidence_module.NO_JOURNAL),
        (UNREADABLE, RAISED, evidence_module.BAD_ROW),
        (UNREADABLE, None, evidence_module.BAD_ROW),
        (RAISED, UNREADABLE, evidence_module.BAD_LINE),
        (None, UNREADABLE, evidence_module.BAD_LINE),
        (UNREADABLE, UNREADABLE, evidence_module.BAD_ROW),
    ],
)
def test_witnesses_who_cannot_be_believed_make_it_secret(row: Witnessed, line: Witnessed, doubt: str):
    record = judged(row, line)

    assert (record.level, record.doubt) == (SECRET, doubt)


@pytest.mark.parametrize("dataset", [UNREADABLE, replace(NOTES, user_id="bob"), replace(NOTES, session_id="s-2")])
def test_a_dataset_that_cannot_be_read_makes_it_secret(dataset: Any):
    record = judged(RAISED, RAISED, NOTES, dataset)

    assert (record.level, record.doubt) == (SECRET, evidence_module.BAD_DATASET)
    assert record.datasets == {"notes": CONFIDENTIAL}


def test_datasets_of_which_no_witness_knows_make_it_secret():
    assert judged(None, None, NOTES).doubt == evidence_module.STRAY_DATASET


@pytest.mark.parametrize("other", [{"user_id": "bob"}, {"session_id": "s-2"}])
def test_a_true_word_on_somebody_else_is_not_believed(other: dict[str, str]):
    stranger = replace(BEGUN, epoch=9, **other)

    assert judged(stranger, RAISED).doubt == evidence_module.BAD_ROW
    assert judged(RAISED, stranger).doubt == evidence_module.BAD_LINE


def test_a_line_of_another_principal_is_unreadable():
    bobs = replace(BEGUN, user_id="bob")

    assert [about_line(ALICE, line) for line in (BEGUN, Line(BEGUN, FIRST))] == [BEGUN, Line(BEGUN, FIRST)]
    assert [about_line(ALICE, line) for line in (bobs, Line(bobs, FIRST), UNREADABLE)] == [UNREADABLE] * 3


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


# Lines

WHOLE = {
    "chained from the first": (Line(BEGUN, FIRST), Line(RAISED, "a"), Line(WORSE, "b")),
    "of version 0.1.0": (BEGUN, RAISED, WORSE),
    "of version 0.1.0, then chained": (BEGUN, RAISED, Line(WORSE, "b")),
    "of version 0.1.0, the last one twice": (BEGUN, RAISED, RAISED, Line(WORSE, "c")),
    "settled after a gap": (Line(BEGUN, FIRST), Line(RAISED, "gone"), Line(WORSE, SETTLED, 7)),
    "settled after one that cannot be read": (Line(BEGUN, FIRST), UNREADABLE, Line(WORSE, SETTLED, 7)),
    "settled after an old one": (Line(RAISED, FIRST), BEGUN, Line(WORSE, SETTLED, 7)),
    "begun anew by the operator": (Line(WORSE, SETTLED, 7),),
}


@pytest.mark.parametrize("lines", WHOLE.values(), ids=WHOLE)
def test_lines_that_follow_one_another_are_believed(lines: tuple[WitnessedLine, ...]):
    chain = chain_of(*lines)

    assert (chain.latest, chain.doubt) == (WORSE, "")
    assert judged(WORSE, chain).doubt == ""


DAMAGED = {
    "a middle one removed": ((Line(BEGUN, FIRST), Line(WORSE, "gone")), evidence_module.BROKEN_CHAIN),
    "the first one removed": ((Line(WORSE, "gone"),), evidence_module.BROKEN_CHAIN),
    "the last one repeated": ((Line(BEGUN, FIRST), Line(WORSE, "a"), Line(WORSE, "a")), evidence_module.BROKEN_CHAIN),
    "the first one repeated": ((Line(WORSE, FIRST), Line(WORSE, FIRST)), evidence_module.BROKEN_CHAIN),
    "the first one put back": (
        (Line(BEGUN, FIRST), Line(WORSE, "a"), Line(BEGUN, FIRST)),
        evidence_module.BROKEN_CHAIN,
    ),
    "a settled one put back": (
        (Line(RAISED, SETTLED), Line(WORSE, "a"), Line(RAISED, SETTLED)),
        evidence_module.BROKEN_CHAIN,
    ),
    "an order reversed": ((Line(WORSE, "b"), Line(BEGUN, FIRST)), evidence_module.BROKEN_CHAIN),
    "a bare one after a chained one": ((Line(BEGUN, FIRST), WORSE), evidence_module.OLD_LINE),
    "a bare one after a settled one": ((Line(BEGUN, SETTLED), WORSE), evidence_module.OLD_LINE),
    "an old bare one put back": ((BEGUN, WORSE, BEGUN), evidence_module.OLD_LINE),
    "an old bare one put back, then chained": (
        (WORSE, BEGUN, Line(replace(WORSE, epoch=2), "b")),
        evidence_module.OLD_LINE,
    ),
    "one of version 0.1.0 removed before a chained one": ((BEGUN, Line(WORSE, "gone")), evidence_module.BROKEN_CHAIN),
    "one that cannot be read": ((Line(BEGUN, FIRST), UNREADABLE, Line(WORSE, "a")), evidence_module.BAD_LINE),
    "left out in doubt": ((Line(WORSE, BROKEN),), evidence_module.BROKEN_CHAIN),
    "a gap, and more after it": ((Line(RAISED, "gone"), Line(WORSE, "a")), evidence_module.BROKEN_CHAIN),
}


@pytest.mark.parametrize(("lines", "doubt"), DAMAGED.values(), ids=DAMAGED)
def test_lines_that_do_not_follow_one_another_make_it_secret(lines: tuple[WitnessedLine, ...], doubt: str):
    chain = chain_of(*lines)
    record = judged(WORSE, chain)

    assert (record.level, record.epoch, record.doubt) == (SECRET, 2, doubt)
    assert chain.latest == WORSE


def test_a_line_is_chained_to_the_last_one_whatever_version_wrote_it():
    for lines in ((BEGUN,), (Line(BEGUN, FIRST),)):
        assert chain_of(*lines).next_line(RAISED) == Line(RAISED, "a")
    assert NO_LINES.next_line(BEGUN) == Line(BEGUN, FIRST)
    assert chain_of(BEGUN, UNREADABLE).next_line(RAISED) == Line(RAISED, "a")


def test_a_settled_line_passes_its_receipt_on():
    chain = chain_of(Line(BEGUN, FIRST), Line(RAISED, "gone"))
    settled = chain.next_line(WORSE, 7)
    after = chain.extend(settled, "c")

    assert settled == Line(WORSE, SETTLED, 7)
    assert after.next_line(LOWERED) == Line(LOWERED, "c", 7)
    assert after.extend(after.next_line(LOWERED), "d").receipt == 7


def test_what_only_an_unreadable_line_knows_has_begun():
    assert judged(None, chain_of(UNREADABLE)).doubt == evidence_module.BAD_LINE


# Receipts


@pytest.mark.parametrize(
    ("found", "doubt"),
    [
        (((4, 1),), ""),
        (((4, 2),), evidence_module.RECEIPT_AHEAD),
        (((4, 2), (5, 1)), evidence_module.RECEIPT_AHEAD),
        (((4, None),), evidence_module.BAD_RECEIPT),
        (((4, LARGEST * 2),), evidence_module.RECEIPT_AHEAD),
    ],
)
@pytest.mark.parametrize("row", [None, BEGUN, RAISED])
def test_a_receipt_ahead_of_both_witnesses_makes_it_secret(
    row: Witnessed, found: tuple[tuple[int, int | None], ...], doubt: str
):
    record = judged(row, RAISED, receipts=ReceiptEpochs(found))

    assert (record.level, record.doubt) == (SECRET if doubt else CONFIDENTIAL, doubt)


def test_a_receipt_of_what_both_witnesses_have_lost_makes_it_secret():
    assert judged(None, None, receipts=ReceiptEpochs(((1, 0),))).doubt == evidence_module.STRAY_RECEIPT


@pytest.mark.parametrize(
    ("number", "epoch", "doubt"),
    [
        (7, None, ""),
        (8, None, evidence_module.BAD_RECEIPT),
        (7, LARGEST + 1, ""),
        (8, LARGEST + 1, evidence_module.RECEIPT_AHEAD),
        (7, 4, evidence_module.RECEIPT_AHEAD),
    ],
)
def test_what_an_operator_has_settled_is_no_doubt_any_more(number: int, epoch: int | None, doubt: str):
    settled = chain_of(Line(LOWERED, SETTLED, 7))

    assert judged(LOWERED, settled, receipts=ReceiptEpochs(((number, epoch),))).doubt == doubt


def test_the_newest_epoch_is_one_that_can_be_continued():
    assert ReceiptEpochs(((1, 3), (2, LARGEST), (9, None), (4, LARGEST + 1))).newest == LARGEST
    assert ReceiptEpochs(((1, 3), (9, None))).last == 9
    assert (NO_RECEIPTS.newest, NO_RECEIPTS.last) == (-1, 0)
