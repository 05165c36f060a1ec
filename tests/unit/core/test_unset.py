"""What stands for an argument that was not given."""

import copy
import pickle

import msgspec
import pytest

from bascule.core.unset import UNSET, Unset


def test_there_is_one_and_it_is_not_none():
    assert UNSET is Unset.UNSET
    assert copy.deepcopy(UNSET) is UNSET
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET
    assert [*Unset] == [UNSET]


def test_it_is_false_and_prints_as_it_is_written():
    assert not UNSET
    assert repr(UNSET) == "UNSET"


@pytest.mark.parametrize("arguments", [{"a": UNSET}, {"a": [UNSET]}])
def test_it_never_becomes_json(arguments: object):
    with pytest.raises(TypeError):
        msgspec.json.encode(arguments)
