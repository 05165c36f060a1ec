import pytest

from bascule.core.sensitivity import Lane
from bascule.upstream.key import LinkKey
from support.links import ALICE, BOB

KEY = LinkKey("files", Lane.OPEN, ALICE)


def test_the_same_server_lane_and_principal_are_the_same_key():
    again = LinkKey("files", Lane.OPEN, ALICE)

    assert again == KEY
    assert {again: 1}[KEY] == 1


@pytest.mark.parametrize(
    "other",
    [LinkKey("mail", Lane.OPEN, ALICE), LinkKey("files", Lane.SEALED, ALICE), LinkKey("files", Lane.OPEN, BOB)],
    ids=["server", "lane", "principal"],
)
def test_anything_else_is_another_key(other: LinkKey):
    assert other != KEY
    assert len({other, KEY}) == 2


def test_a_key_cannot_be_changed():
    with pytest.raises(AttributeError):
        KEY.lane = Lane.SEALED  # pyright: ignore[reportAttributeAccessIssue] -- that it cannot is the point
