"""The interface of what keeps levels."""

from pathlib import Path

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.null_store import Unkept
from bascule.store.sqlite.store import SqliteStore


def test_every_engine_fits_the_interface(tmp_path: Path):
    levels: tuple[LevelStore, ...] = (SqliteStore(tmp_path / "bascule.db").levels, Unkept().levels)
    assert len(levels) == 2


def test_a_record_is_of_one_who_has_seen_nothing_unless_it_says_so():
    record = SessionRecord(Principal("alice", "s-1"), DataSensitivity.PUBLIC)

    assert (record.epoch, record.ended, record.datasets, record.doubt) == (0, False, {}, "")
