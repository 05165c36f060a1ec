from bascule.core.errors import ConnectFailed, LoginNeeded
from bascule.upstream.state import USABLE, LinkState, failed, in_use


def test_a_failure_carries_its_reason_and_its_error():
    error = ConnectFailed("no answer")
    condition = failed(error)

    assert (condition.state, condition.reason, condition.error) == (LinkState.FAILED, "no answer", error)


def test_a_server_that_wants_a_login_has_not_failed():
    assert failed(LoginNeeded("who are you")).state is LinkState.NEEDS_AUTH


def test_only_ready_and_degraded_links_can_be_used():
    assert {LinkState.READY, LinkState.DEGRADED} == USABLE


def test_every_state_has_the_name_people_see():
    names = "configured connecting ready degraded needs-auth failed closed"

    assert [str(state) for state in LinkState] == names.split()


def test_a_link_that_falls_short_of_something_is_degraded():
    assert (in_use("").state, in_use("no tools").state) == (LinkState.READY, LinkState.DEGRADED)
