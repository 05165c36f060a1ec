import pytest

from bascule.records.recorder import Failing
from support.telling import link


def test_a_server_fails_until_a_link_to_it_is_of_use():
    failing = Failing()
    failing.note(link("failed", server="a"))
    failing.note(link("failed", server="b"))
    assert failing.servers == {"a", "b"}
    failing.note(link("ready", server="a"))
    failing.note(link("degraded", server="b"))
    assert failing.servers == set()


@pytest.mark.parametrize("state", ["configured", "connecting", "closed", "needs-auth"])
def test_what_is_under_way_or_meant_changes_nothing(state: str):
    failing = Failing()
    failing.note(link(state))
    assert failing.servers == set()
    failing.note(link("failed"))
    failing.note(link(state))
    assert failing.servers == {"work"}
