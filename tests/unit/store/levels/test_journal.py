"""Journal of levels: each line is chained to the one before it of its agent session; torn lines do no harm."""

import os
import resource
import signal
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels import journal as journal_module
from bascule.store.levels.evidence import BROKEN_CHAIN, NO_LINES, OLD_LINE
from bascule.store.levels.journal import HEAD, Journal
from bascule.store.levels.signed_statement import FIRST, SETTLED, Line, Statement, read_line, seal

PUBLIC, INTERNAL, CONFIDENTIAL, SECRET = DataSensitivity
KEY = b"k" * 32
ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
BEGUN = Statement("alice", "s-1", PUBLIC, 0, ended=False, since=5.0)
RAISED = replace(BEGUN, level=CONFIDENTIAL, epoch=1)
BOBS = replace(BEGUN, user_id="bob")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bascule.db-raises"


def read(path: Path, key: bytes = KEY) -> Journal:
    journal = Journal(path, key)
    journal.refresh()
    return journal


def written(path: Path, *statements: Statement) -> Journal:
    journal = Journal(path, KEY)
    for statement in statements:
        journal.append(statement)
    return journal


def in_force(journal: Journal, principal: Principal) -> object:
    """The statement of the line in force of an agent session whose lines are without doubt."""
    lines = journal.lines(principal)
    assert lines.doubt == ""
    return lines.latest


def lines_in(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().split(b"\n")[1:] if line]


def put(path: Path, lines: list[bytes]) -> Path:
    title = path.read_bytes().partition(b"\n")[0]
    path.write_bytes(b"\n".join((title, *lines, b"")))
    return path


def test_a_journal_that_is_not_there_says_nothing(path: Path):
    journal = read(path)

    assert journal.lines(ALICE) == NO_LINES
    assert list(journal.owners()) == []
    assert not path.exists()


def test_the_latest_line_of_each_holds(path: Path):
    written(path, BEGUN, BOBS, RAISED)
    journal = read(path)

    assert (in_force(journal, ALICE), in_force(journal, BOB)) == (RAISED, BOBS)
    assert set(journal.owners()) == {("alice", "s-1"), ("bob", "s-1")}
    assert journal.unreadable == 0


def test_each_line_names_the_line_before_it_of_its_agent_session(path: Path):
    written(path, BEGUN, BOBS, RAISED)
    alices, bobs, last = lines_in(path)

    assert read_line(alices, KEY) == Line(BEGUN, FIRST)
    assert read_line(bobs, KEY) == Line(BOBS, FIRST)
    assert read_line(last, KEY) == Line(RAISED, alices[:64].decode())


def test_the_first_chained_line_names_the_last_one_of_version_0_1_0(path: Path):
    path.write_bytes(b"\n".join((b"bascule raises 1 title", seal(BEGUN, KEY), b"", seal(RAISED, KEY), b"")))
    written(path, replace(RAISED, epoch=2))

    assert read_line(lines_in(path)[-1], KEY) == Line(replace(RAISED, epoch=2), seal(RAISED, KEY)[:64].decode())
    assert in_force(read(path), ALICE) == replace(RAISED, epoch=2)


@pytest.mark.parametrize(
    ("places", "doubt"),
    [
        ([0, 2, 3], BROKEN_CHAIN),
        ([1, 2, 3], BROKEN_CHAIN),
        ([0, 1, 2, 3, 1], BROKEN_CHAIN),
        ([0, 2, 1, 3], BROKEN_CHAIN),
    ],
)
def test_a_line_that_is_gone_or_put_back_is_a_doubt_of_its_agent_session_alone(
    path: Path, places: list[int], doubt: str
):
    written(path, BEGUN, RAISED, replace(RAISED, level=SECRET, epoch=2), BOBS)
    lines = lines_in(path)
    journal = read(put(path, [lines[place] for place in places]))

    assert (journal.lines(ALICE).doubt, in_force(journal, BOB)) == (doubt, BOBS)


def test_a_line_of_version_0_1_0_after_a_chained_one_is_a_doubt(path: Path):
    written(path, BEGUN)
    put(path, [*lines_in(path), seal(RAISED, KEY)])

    assert read(path).lines(ALICE).doubt == OLD_LINE


def test_an_operator_begins_the_chain_anew(path: Path):
    written(path, BEGUN, RAISED)
    put(path, lines_in(path)[1:])
    journal = read(path)
    lowered = replace(BEGUN, epoch=2)
    journal.append(lowered, settled=7)

    assert read_line(lines_in(path)[-1], KEY) == Line(lowered, SETTLED, 7)
    assert in_force(read(path), ALICE) == lowered


def test_only_its_owner_can_read_it(path: Path):
    written(path, BEGUN)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_reader_hears_of_what_others_add(path: Path):
    reader = read(path)
    writer = written(path, BEGUN)
    reader.refresh()
    assert in_force(reader, ALICE) == BEGUN

    writer.append(RAISED)
    assert in_force(reader, ALICE) == BEGUN
    reader.refresh()
    assert in_force(reader, ALICE) == RAISED


def test_a_torn_line_is_no_line_and_the_next_one_is_whole(path: Path):
    written(path, BEGUN)
    with path.open("ab") as file:
        file.write(seal(RAISED, KEY)[:-5])
    journal = read(path)
    assert (in_force(journal, ALICE), journal.unreadable) == (BEGUN, 0)

    journal.append(BOBS)
    for each in (journal, read(path)):
        each.refresh()
        assert (in_force(each, ALICE), in_force(each, BOB), each.unreadable) == (BEGUN, BOBS, 1)


def test_a_line_that_lacks_only_its_end_is_torn_too(path: Path):
    """Else it would become whole with the next line, whose predecessor it is not."""
    written(path, BEGUN)
    with path.open("ab") as file:
        file.write(seal(Line(RAISED, lines_in(path)[0][:64].decode()), KEY))
    other = replace(RAISED, level=SECRET)
    written(path, other)

    journal = read(path)
    assert (in_force(journal, ALICE), journal.unreadable) == (other, 1)


def test_a_line_is_read_once_it_is_whole(path: Path):
    written(path, BEGUN)
    line = seal(Line(RAISED, lines_in(path)[0][:64].decode()), KEY) + b"\n"
    journal = read(path)
    for piece in (line[:10], line[10:-1]):
        with path.open("ab") as file:
            file.write(piece)
        journal.refresh()
        assert in_force(journal, ALICE) == BEGUN
    with path.open("ab") as file:
        file.write(b"\n")
    journal.refresh()

    assert (in_force(journal, ALICE), journal.unreadable) == (RAISED, 0)


def test_lines_under_another_key_are_unreadable(path: Path):
    written(path, BEGUN, RAISED)
    journal = read(path, b"other" * 7)

    assert (in_force(journal, ALICE), journal.unreadable) == (None, 2)


@pytest.mark.parametrize("length", [0, 10, HEAD, HEAD + 20])
def test_a_journal_cut_short_goes_on(path: Path, length: int):
    journal = written(path, BEGUN)
    journal.refresh()
    os.truncate(path, length)
    journal.append(BOBS)

    for each in (journal, read(path)):
        each.refresh()
        assert (in_force(each, ALICE), in_force(each, BOB)) == (None, BOBS)


def test_a_journal_that_is_gone_is_forgotten_and_begun_anew(path: Path):
    journal = written(path, BEGUN)
    journal.refresh()
    path.unlink()
    journal.refresh()
    assert in_force(journal, ALICE) is None

    journal.append(BOBS)
    assert (in_force(read(path), ALICE), in_force(read(path), BOB)) == (None, BOBS)


def test_another_journal_in_its_place_is_noticed_whatever_its_size(path: Path, tmp_path: Path):
    journal = written(path, BEGUN)
    journal.refresh()
    other = tmp_path / "other"
    written(other, BOBS, BOBS, BOBS)
    # The same file for the file system.
    path.write_bytes(other.read_bytes())
    journal.refresh()

    assert (in_force(journal, ALICE), in_force(journal, BOB)) == (None, BOBS)


def test_dead_lines_are_left_out_when_they_are_many(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_module, "MANY", 12)
    lines = [replace(RAISED, epoch=epoch) for epoch in range(10)]
    journal = written(path, BOBS, *lines)
    reader = read(path)
    journal.refresh()
    before = path.stat().st_size
    journal.tidy()
    assert path.stat().st_size == before

    journal.append(replace(RAISED, epoch=10))
    journal.refresh()
    journal.tidy()
    reader.refresh()
    assert path.stat().st_size < before / 3
    for each in (journal, reader, read(path)):
        assert (in_force(each, ALICE), in_force(each, BOB)) == (replace(RAISED, epoch=10), BOBS)
    assert list(path.parent.iterdir()) == [path]

    journal.append(replace(RAISED, epoch=11))
    reader.refresh()
    assert in_force(reader, ALICE) == replace(RAISED, epoch=11)


def test_a_chain_in_doubt_stays_in_doubt_where_its_lines_are_left_out(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_module, "MANY", 4)
    journal = written(path, BOBS, *(replace(RAISED, epoch=epoch) for epoch in range(9)))
    lines = lines_in(path)
    put(path, [*lines[:4], *lines[5:]])
    journal.refresh()
    journal.tidy()

    assert len(lines_in(path)) == 2
    for each in (journal, read(path)):
        each.refresh()
        assert (each.lines(ALICE).latest, each.lines(ALICE).doubt) == (replace(RAISED, epoch=8), BROKEN_CHAIN)
        assert in_force(each, BOB) == BOBS


def test_what_an_operator_has_settled_stays_settled_where_lines_are_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal_module, "MANY", 4)
    journal = written(path, BOBS, *(replace(RAISED, epoch=epoch) for epoch in range(9)))
    journal.append(replace(BEGUN, epoch=9), settled=7)
    journal.refresh()
    journal.tidy()

    assert len(lines_in(path)) == 2
    assert (in_force(journal, ALICE), journal.lines(ALICE).receipt) == (replace(BEGUN, epoch=9), 7)


def test_few_dead_lines_among_many_that_hold_stay(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_module, "MANY", 4)
    journal = written(path, *(replace(BEGUN, session_id=f"s-{number}") for number in range(8)))
    journal.refresh()
    before = path.read_bytes()
    journal.tidy()

    assert path.read_bytes() == before


def test_lines_that_cannot_be_read_stay_where_dead_ones_are_left_out(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journal_module, "MANY", 4)
    written(path, BEGUN, RAISED)
    other = Journal(path, b"other" * 7)
    for epoch in range(9):
        other.append(replace(BOBS, epoch=epoch))
    other.refresh()
    before = path.stat().st_size
    other.tidy()

    assert path.stat().st_size < before
    assert (other.unreadable, in_force(other, BOB)) == (2, replace(BOBS, epoch=8))
    assert in_force(read(path), ALICE) == RAISED


def test_an_unfinished_new_file_is_in_nobodys_way(path: Path):
    path.with_name(f"{path.name}-new").write_bytes(b"half")
    written(path, BEGUN)

    assert in_force(read(path), ALICE) == BEGUN
    assert list(path.parent.iterdir()) == [path]


def test_what_another_has_added_can_be_made_durable(path: Path):
    journal = written(path, BEGUN)
    journal.sync()
    path.unlink()

    with pytest.raises(FileNotFoundError):
        journal.sync()


def test_a_link_in_its_place_is_not_followed(path: Path, tmp_path: Path):
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic"):
        Journal(path, KEY).refresh()


def test_a_disk_that_takes_only_a_part_is_told(path: Path):
    """As a full one does. Here it is a limit on the size of files that the system sets for this process."""
    journal = written(path, BEGUN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, limits[1]))
    try:
        with pytest.raises(OSError, match="only 20 of"):
            journal.append(RAISED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    journal.append(BOBS)
    journal.refresh()

    assert (in_force(journal, ALICE), in_force(journal, BOB)) == (BEGUN, BOBS)
