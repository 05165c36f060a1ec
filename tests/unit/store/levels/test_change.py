"""What a change writes, whatever the witnesses say."""

import pytest
from msgspec.structs import replace

from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.change import Draft, begun, ended, lowered, raised, seen
from bascule.store.levels.evidence import (
    BAD_DATASET,
    BROKEN_CHAIN,
    NO_JOURNAL,
    RECEIPT_AHEAD,
    Evidence,
    LineChain,
    ReceiptEpochs,
)
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.signed_statement import UNREADABLE, DatasetStatement, Statement, Witnessed

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
ALICE = Principal("alice", "s-1")
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
NOTES = DatasetStatement("alice", "s-1", "notes", CONFIDENTIAL)
NOTHING = Evidence(ALICE, None)


def of(row: Witnessed, line: Witnessed) -> Evidence:
    return Evidence(ALICE, row, LineChain(line))


def record_after(evidence: Evidence, draft: Draft) -> SessionRecord:
    after = draft.after(evidence)
    assert after.settled
    assert after.record is not None
    return after.record


def test_what_has_not_begun_begins_public():
    assert begun(NOTHING, 5.0) == Draft(BEGUN)


def test_what_both_witnesses_say_needs_no_writing():
    evidence = of(RAISED, RAISED)

    assert begun(evidence, 9.0) is None
    assert raised(evidence, CONFIDENTIAL, 9.0) is None
    assert raised(evidence, PUBLIC, 9.0) is None


def test_a_raise_moves_the_epoch_and_keeps_the_beginning():
    assert raised(of(BEGUN, BEGUN), CONFIDENTIAL, 9.0) == Draft(RAISED, PUBLIC, "raise")


def test_a_raise_of_what_has_not_begun_begins_it():
    assert raised(NOTHING, CONFIDENTIAL, 5.0) == Draft(RAISED, PUBLIC, "raise")
    assert raised(NOTHING, PUBLIC, 5.0) == Draft(BEGUN)


@pytest.mark.parametrize("row", [None, BEGUN])
def test_a_row_that_is_behind_its_line_is_brought_up_with_a_receipt(row: Witnessed):
    recovered = Draft(RAISED, PUBLIC, "raise", told=True)

    assert begun(of(row, RAISED), 9.0) == recovered
    assert raised(of(row, RAISED), INTERNAL, 9.0) == recovered


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (replace(BEGUN, epoch=2), "declassify"),
        (replace(RAISED, epoch=2, ended=True), "end"),
        (replace(RAISED, epoch=2), None),
    ],
)
def test_the_receipt_of_a_recovered_change_says_what_it_was(line: Statement, change: str | None):
    draft = begun(of(RAISED, line), 9.0)

    assert draft == Draft(line, CONFIDENTIAL, change, told=True)  # pyright: ignore[reportArgumentType]


def test_two_words_of_one_epoch_become_one_again():
    evidence = of(RAISED, replace(RAISED, level=INTERNAL))
    draft = begun(evidence, 9.0)

    assert draft == Draft(replace(RAISED, epoch=2), CONFIDENTIAL)


def test_a_doubt_is_not_written_down_by_beginning():
    assert begun(of(RAISED, None), 9.0) is None
    assert begun(of(UNREADABLE, UNREADABLE), 9.0) is None


@pytest.mark.parametrize("asked", list(DataSensitivity))
def test_a_raise_in_doubt_makes_it_secret_for_good_and_keeps_the_doubt(asked: DataSensitivity):
    evidence = of(RAISED, None)
    draft = raised(evidence, asked, 9.0)

    assert draft == Draft(replace(RAISED, level=SECRET, epoch=2, doubt=NO_JOURNAL), CONFIDENTIAL, "raise")
    assert draft is not None
    assert raised(draft.after(evidence), asked, 9.0) is None


def test_a_raise_in_doubt_over_a_dataset_makes_it_secret_for_good():
    evidence = Evidence(ALICE, RAISED, LineChain(RAISED), (UNREADABLE,))
    draft = raised(evidence, CONFIDENTIAL, 9.0)

    assert draft == Draft(replace(RAISED, level=SECRET, epoch=2, doubt=BAD_DATASET), CONFIDENTIAL, "raise")


def test_a_raise_with_nothing_readable_is_a_raise_from_public():
    draft = raised(of(UNREADABLE, None), INTERNAL, 9.0)

    assert draft is not None
    assert (draft.before, draft.statement.level, draft.change) == (PUBLIC, SECRET, "raise")


def test_a_true_word_on_somebody_else_moves_no_epoch():
    draft = raised(of(replace(RAISED, user_id="bob", epoch=70), BEGUN), INTERNAL, 9.0)

    assert draft is not None
    assert draft.statement.epoch == 1


def test_declassifying_is_a_later_word_and_takes_doubt_away():
    evidence = of(RAISED, None)
    draft = lowered(evidence, INTERNAL)

    assert draft == Draft(replace(RAISED, level=INTERNAL, epoch=2), SECRET, "declassify", settled=0)
    assert record_after(evidence, draft).doubt == ""


def test_declassifying_without_doubt_goes_on_with_the_chain():
    assert lowered(of(RAISED, RAISED), INTERNAL).settled is None


DOUBTED = {
    "lines": Evidence(ALICE, RAISED, LineChain(RAISED, doubt=BROKEN_CHAIN)),
    "a receipt ahead": Evidence(ALICE, RAISED, LineChain(RAISED), receipts=ReceiptEpochs(((3, 1), (4, 5)))),
    "a receipt that cannot be read": Evidence(ALICE, RAISED, LineChain(RAISED), receipts=ReceiptEpochs(((4, None),))),
}


@pytest.mark.parametrize("evidence", DOUBTED.values(), ids=DOUBTED)
def test_declassifying_settles_lines_and_receipts_so_far(evidence: Evidence):
    draft = lowered(evidence, PUBLIC)

    assert draft.settled == evidence.receipts.last
    assert (record_after(evidence, draft).level, record_after(evidence, draft).doubt) == (PUBLIC, "")


@pytest.mark.parametrize("evidence", DOUBTED.values(), ids=DOUBTED)
def test_nothing_but_declassifying_takes_doubt_away(evidence: Evidence):
    for draft in (raised(evidence, INTERNAL, 9.0), ended(evidence)):
        assert draft is not None
        assert draft.settled is None
        assert (draft.statement.level, record_after(evidence, draft).level) == (SECRET, SECRET)
        assert record_after(evidence, draft).doubt == draft.statement.doubt != ""


def test_a_change_after_a_lost_one_is_later_than_its_receipt():
    evidence = Evidence(ALICE, RAISED, LineChain(RAISED), receipts=ReceiptEpochs(((4, 5),)))
    draft = raised(evidence, INTERNAL, 9.0)

    assert draft == Draft(replace(RAISED, level=SECRET, epoch=6, doubt=RECEIPT_AHEAD), CONFIDENTIAL, "raise")


@pytest.mark.parametrize("level", [CONFIDENTIAL, SECRET])
def test_a_level_that_is_not_above_cannot_be_lowered_to(level: DataSensitivity):
    with pytest.raises(UsageError, match=f"CONFIDENTIAL, which is not above {level.name}"):
        lowered(of(RAISED, RAISED), level)


def test_what_is_ended_stays_ended_through_every_other_change():
    evidence = of(RAISED, RAISED)
    draft = ended(evidence)
    assert draft == Draft(replace(RAISED, epoch=2, ended=True), CONFIDENTIAL, "end")

    after = draft.after(evidence)
    higher = raised(after, SECRET, 9.0)
    assert higher is not None
    assert (higher.statement.ended, lowered(after, PUBLIC).statement.ended) == (True, True)


def test_nobody_ends_or_lowers_what_has_not_begun():
    for change in (lambda: ended(NOTHING), lambda: lowered(NOTHING, PUBLIC)):
        with pytest.raises(UsageError, match="no agent session alice/s-1"):
            change()


def test_a_dataset_is_kept_at_the_highest_level_it_was_given():
    evidence = Evidence(ALICE, RAISED, LineChain(RAISED), (NOTES,))

    assert seen(NOTHING, "notes", CONFIDENTIAL) == NOTES
    assert seen(evidence, "notes", INTERNAL) is None
    assert seen(evidence, "notes", CONFIDENTIAL) is None
    assert seen(evidence, "notes", SECRET) == replace(NOTES, level=SECRET)
    assert seen(evidence, "other", PUBLIC) == replace(NOTES, dataset="other", level=PUBLIC)
