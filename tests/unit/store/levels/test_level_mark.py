"""Level marks: what is sealed is read, everything else is in doubt, and no comparison gives less than record and mark."""

import hmac
from itertools import product

import msgspec
import pytest

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord
from bascule.store.levels.level_mark import (
    NEVER,
    NOT_A_MARK,
    OF_ANOTHER,
    PROVISIONAL,
    STORE_BEHIND,
    Absent,
    Comparison,
    LevelMark,
    Unusable,
    compare,
    last_lowered,
    mark_of,
    read_mark,
    seal_mark,
)
from bascule.store.levels.signed_statement import Statement, seal

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
HERE, ELSEWHERE = "0123456789abcdef", "fedcba9876543210"
KEY = b"k" * 32


def record(level: DataSensitivity, epoch: int = 3) -> SessionRecord:
    return SessionRecord(ALICE, level, epoch, since=1.0)


def mark(level: DataSensitivity, epoch: int = 3, store: str = HERE) -> LevelMark:
    return LevelMark("alice", "s-1", level, epoch, store)


def compared(
    found: LevelMark | Absent | Unusable, level: DataSensitivity, epoch: int = 3, lowered: int | None = NEVER
) -> Comparison:
    comparison = compare(record(level, epoch), found, HERE, lowered)
    assert comparison is not None
    return comparison


# The file


def test_what_was_sealed_is_read():
    assert read_mark(seal_mark(mark(SECRET), KEY), ALICE, KEY) == mark(SECRET)


def test_the_longest_ids_stay_within_what_is_read():
    longest = Principal("\U0001f512" * 255, '"' * 255)
    sealed = seal_mark(mark_of(SessionRecord(longest, SECRET, 1), HERE), KEY)
    assert len(sealed) < 16 * 1024
    assert isinstance(read_mark(sealed, longest, KEY), LevelMark)


def test_every_altered_byte_and_every_cut_is_unreadable():
    sealed = seal_mark(mark(CONFIDENTIAL), KEY)
    altered = [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :] for at in range(len(sealed))]
    cut = [sealed[:at] for at in range(len(sealed))]
    for found in (*altered, *cut, sealed + b"\n", b"\0" * len(sealed)):
        assert read_mark(found, ALICE, KEY) == Unusable(NOT_A_MARK)


def test_the_mark_of_another_agent_session_and_of_another_key_are_in_doubt():
    sealed = seal_mark(mark(PUBLIC), KEY)
    assert read_mark(sealed, BOB, KEY) == Unusable(OF_ANOTHER)
    assert read_mark(sealed, ALICE, b"x" * 32) == Unusable(NOT_A_MARK)


def test_no_statement_of_a_store_passes_for_a_mark():
    statement = seal(Statement("alice", "s-1", PUBLIC, 9, ended=False, since=1.0), KEY)
    assert read_mark(statement.ljust(511) + b"\n", ALICE, KEY) == Unusable(NOT_A_MARK)
    # The same words under a MAC that names no kind, or another one.
    body = msgspec.json.encode(mark(PUBLIC))
    for kind in (b"", b"Statement\n"):
        sealed = hmac.digest(KEY, kind + body, "sha256").hex().encode() + b" " + body
        assert read_mark(sealed.ljust(511) + b"\n", ALICE, KEY) == Unusable(NOT_A_MARK)


def test_a_mark_of_another_version_is_in_doubt():
    class Later(LevelMark, frozen=True, array_like=True):
        more: str = ""

    class Other(msgspec.Struct, frozen=True):
        level: int = 0

    later = Later("alice", "s-1", SECRET, 1, HERE, "more")
    assert read_mark(seal_mark(later, KEY), ALICE, KEY) == mark(SECRET, 1)
    assert read_mark(seal_mark(Other(), KEY), ALICE, KEY) == Unusable(NOT_A_MARK)  # type: ignore[arg-type]


# The comparison


def test_a_record_counts_where_there_is_no_workspace():
    assert compared(Absent.NO_WORKSPACE, PUBLIC) == Comparison(record(PUBLIC))


def test_a_workspace_without_files_gets_its_mark_at_the_level_of_the_record():
    assert compared(Absent.UNMARKED, CONFIDENTIAL) == Comparison(record(CONFIDENTIAL), mark(CONFIDENTIAL))


def test_a_mark_that_cannot_be_used_is_secret_with_the_reason_and_stays():
    comparison = compared(Unusable("gone"), PUBLIC)
    assert (comparison.record.level, comparison.record.doubt, comparison.mark) == (SECRET, "gone", None)


def test_a_mark_ahead_of_its_store_is_secret_and_stays_ahead():
    comparison = compared(mark(INTERNAL, 4), PUBLIC)
    assert (comparison.record.level, comparison.record.doubt) == (SECRET, STORE_BEHIND)
    assert comparison.mark is None
    # A raise while it is ahead is kept too.
    assert compared(mark(INTERNAL, 4), CONFIDENTIAL).mark == mark(CONFIDENTIAL, 4)


def test_a_mark_of_another_store_gives_its_level_and_is_taken_over():
    assert compared(mark(CONFIDENTIAL, 9, ELSEWHERE), PUBLIC) == Comparison(record(CONFIDENTIAL), mark(CONFIDENTIAL))
    assert compared(mark(PUBLIC, 9, ELSEWHERE), INTERNAL) == Comparison(record(INTERNAL), mark(INTERNAL))


def test_a_store_that_claims_nothing_leaves_a_mark_that_is_no_lower():
    of_another = mark(CONFIDENTIAL, 9, ELSEWHERE)
    same = compare(record(CONFIDENTIAL), of_another, HERE, NEVER, claim=False)
    higher = compare(record(SECRET), of_another, HERE, NEVER, claim=False)
    assert same == Comparison(record(CONFIDENTIAL))
    assert higher == Comparison(record(SECRET), mark(SECRET))


def test_a_mark_that_is_behind_follows_its_record():
    assert compared(mark(PUBLIC, 2), INTERNAL) == Comparison(record(INTERNAL), mark(INTERNAL))
    assert compared(mark(INTERNAL, 3), INTERNAL) == Comparison(record(INTERNAL))


@pytest.mark.parametrize(
    ("lowered", "level"), [(3, PUBLIC), (2, CONFIDENTIAL), (1, CONFIDENTIAL), (NEVER, CONFIDENTIAL)]
)
def test_only_a_declassification_after_a_mark_lowers_it(lowered: int, level: DataSensitivity):
    assert compared(mark(CONFIDENTIAL, 2), PUBLIC, lowered=lowered) == Comparison(record(level), mark(level))


def test_without_the_receipts_a_mark_that_is_higher_decides_nothing():
    assert compare(record(PUBLIC), mark(CONFIDENTIAL, 2), HERE) is None


def test_a_provisional_mark_says_nothing_to_its_own_store_and_secret_to_others():
    assert compared(mark(SECRET, PROVISIONAL), PUBLIC) == Comparison(record(PUBLIC), mark(PUBLIC))
    assert compared(mark(SECRET, PROVISIONAL, ELSEWHERE), PUBLIC).record.level is SECRET


def test_no_comparison_gives_less_than_record_and_mark_without_a_declassification():
    for level, marked, epoch, lowered, store in product(
        DataSensitivity, DataSensitivity, range(6), (NEVER, *range(4)), (HERE, ELSEWHERE)
    ):
        found = mark(marked, epoch, store)
        comparison = compared(found, level, lowered=lowered)
        counted, after = comparison.record, comparison.mark or found
        assert counted.level >= level
        if store == ELSEWHERE or epoch >= lowered:
            assert counted.level >= marked
            assert after.level >= max(level, marked)
        assert after.level >= level
        # What was written holds in this store from then on.
        again = compared(after, level, lowered=lowered)
        assert (again.record, again.mark) == (counted, None)


def test_the_last_declassification_is_that_of_the_highest_epoch():
    def receipt(change: str, epoch: int) -> Receipt:
        return Receipt(epoch, change, ALICE, 1.0, SECRET, PUBLIC, epoch, Cause("operator ada"))  # type: ignore[arg-type]

    assert last_lowered(()) == NEVER
    assert last_lowered((receipt("raise", 1), receipt("declassify", 2), receipt("end", 3))) == 2
