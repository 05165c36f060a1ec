"""What was sealed is known again, and nothing else is."""

from pathlib import Path
from string import ascii_letters, digits

import pytest

from bascule.identity.signed_state import LONGEST, Seal


def test_it_is_known_again_by_all_of_one_state_folder_and_by_no_other(tmp_path: Path):
    sealed = Seal(tmp_path / "a", lambda: 0.0).close({"n": 1}, 10)
    assert Seal(tmp_path / "a", lambda: 0.0).open(sealed) == {"n": 1}
    assert Seal(tmp_path / "b", lambda: 0.0).open(sealed) is None


def test_it_is_known_for_its_time_alone(tmp_path: Path):
    now = 0.0
    seal = Seal(tmp_path, lambda: now)
    sealed = seal.close({}, 10)
    now = 9.9
    assert seal.open(sealed) == {}
    now = 10.0
    assert seal.open(sealed) is None


@pytest.mark.parametrize("change", [0, 20, -20, -1])
def test_one_character_that_was_changed_spoils_it(tmp_path: Path, change: int):
    seal = Seal(tmp_path, lambda: 0.0)
    sealed = seal.close({"user": "alice", "more": "x" * 50}, 10)
    for other in "Ab1":
        changed = [*sealed]
        changed[change] = other
        if "".join(changed) != sealed:
            assert seal.open("".join(changed)) is None


def test_there_is_one_way_to_write_it(tmp_path: Path):
    """The last character holds bits that mean nothing, and others could be put there."""
    seal = Seal(tmp_path, lambda: 0.0)
    sealed = seal.close({}, 10)
    assert [end for end in ascii_letters + digits + "-_" if seal.open(sealed[:-1] + end) is not None] == [sealed[-1]]


@pytest.mark.parametrize("text", ["", ".", "e30", "e30.", ".e30", "ü.ü", "e30=.e30=", "x" * (LONGEST + 1)])
def test_what_was_never_sealed_is_nothing(tmp_path: Path, text: str):
    assert Seal(tmp_path, lambda: 0.0).open(text) is None
