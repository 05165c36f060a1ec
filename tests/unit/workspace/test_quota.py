"""How much one agent session may keep."""

import os
from pathlib import Path

import pytest

from bascule.core.errors import NoRoom
from bascule.workspace.quota import BLOCK, Quota, cost, cost_of, total


class Counted:
    """What is really there, and how often somebody looked."""

    def __init__(self, used: int = 0) -> None:
        self.used = used
        self.looks = 0

    def __call__(self) -> int:
        self.looks += 1
        return self.used


def test_nothing_is_counted_before_something_is_to_be_written():
    count = Counted()
    quota = Quota(100, count)
    quota.adjust(-5)
    assert count.looks == 0
    quota.take(50, "a")
    quota.take(50, "b")
    assert count.looks == 1


def test_what_would_be_too_much_is_counted_anew():
    count = Counted(90)
    quota = Quota(100, count)
    with pytest.raises(NoRoom, match="no room for /workspace/a") as caught:
        quota.take(20, "a")
    assert caught.value.evidence == "90 of 100 bytes are used, 20 more are needed"
    count.used = 10
    quota.take(20, "a")
    quota.take(70, "a")


def test_what_was_refused_does_not_count():
    quota = Quota(100, Counted(90))
    with pytest.raises(NoRoom):
        quota.take(20, "a")
    quota.take(10, "a")


def test_less_always_fits_and_there_is_never_less_than_nothing():
    quota = Quota(100, Counted(500))
    quota.take(-1000, "a")
    quota.take(100, "a")
    quota.adjust(-1000)
    quota.take(100, "b")


@pytest.mark.parametrize(("size", "blocks"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (2**40, 2**28)])
def test_a_file_counts_in_whole_blocks_and_an_empty_one_too(size: int, blocks: int):
    assert cost(size) == blocks * BLOCK


def test_folders_and_links_count_as_a_block_and_holes_as_if_they_were_filled(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("x" * 300)
    with (tmp_path / "f").open("wb") as file:
        file.truncate(10 * BLOCK)
    costs = {path.name: cost_of(path.lstat()) for path in tmp_path.iterdir()}
    assert costs == {"d": BLOCK, "l": BLOCK, "f": 10 * BLOCK}
    assert cost_of(None) == 0
    assert total((entry.name, entry.stat(follow_symlinks=False)) for entry in os.scandir(tmp_path)) == 12 * BLOCK
