"""How our containers are known."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.core.principal import Principal
from bascule.sandbox.docker.labels import OWNER, STATE, alias, owned_by, state_name
from bascule.sandbox.owner import Owner, left_behind


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path)
    yield made
    made.release()


def test_what_belongs_to_a_runtime_names_it_and_its_state_folder(owner: Owner):
    assert owned_by(owner) == {OWNER: owner.id, STATE: state_name(owner.state)}


def test_a_state_folder_has_one_name_and_no_other_folder_has_it(tmp_path: Path):
    assert state_name(tmp_path / "a") == state_name(tmp_path / "a")
    assert state_name(tmp_path / "a") != state_name(tmp_path / "b")
    assert list(left_behind(tmp_path / "a")) == []


def test_a_principal_is_told_apart_and_not_told():
    assert alias(Principal("alice", "s-1")) == alias(Principal("alice", "s-1"))
    assert len({alias(Principal(*each)) for each in (("alice", "s-1"), ("alice", "s-2"), ("a", "lices-1"))}) == 3
    assert "alice" not in alias(Principal("alice", "s-1"))


def test_a_state_folder_that_cannot_be_used_is_told_with_a_fix(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SandboxError) as caught:
        state_name(tmp_path / "file")
    assert "BASCULE_HOME" in caught.value.fix
    assert os.strerror(20) in caught.value.evidence
