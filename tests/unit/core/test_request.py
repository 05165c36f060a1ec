"""A request as every transport takes it."""

from bascule.core.request import Request


def test_a_request_is_a_call_that_the_server_hears_of_when_we_stop_waiting():
    request = Request("tools/call", {"name": "a"}, timeout=30)

    assert request.phase == "call"
    assert request.cancel_on_abandon
    assert request.permit is None


def test_requests_share_no_headers():
    first, second = Request("a", None, 1), Request("b", None, 1)

    assert first.headers == second.headers == {}
    assert first.headers is not second.headers
