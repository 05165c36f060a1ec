import json

import pytest

from bascule.gateway.errors import Rejected, not_served, retry_after, too_much
from bascule.gateway.http.body import NotTaken
from bascule.gateway.limits import TooMuch


@pytest.mark.parametrize(("code", "status"), [(-32700, 400), (-32601, 404), (-32022, 400), (-32603, 200), (17, 200)])
def test_the_status_follows_the_code_unless_it_is_told(code: int, status: int):
    assert Rejected(code, "no").status == status
    assert Rejected(code, "no", status=418).status == 418


def test_its_body_is_an_error_of_the_protocol():
    said = json.loads(Rejected(-32602, "no", data={"a": 1}).body(7))
    assert said == {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "no", "data": {"a": 1}}}
    assert json.loads(Rejected(-32600, "no").body(None))["id"] is None


def test_who_asked_for_too_much_is_told_when_to_come_back():
    error = TooMuch("enough", 3)
    said = json.loads(too_much(error))
    assert (said["id"], said["error"]["code"], said["error"]["data"]) == (
        None,
        -32000,
        {"code": "BSC-716", "retry_after": 3},
    )
    assert "enough" in said["error"]["message"]
    assert retry_after(error) == [(b"retry-after", b"3")]


def test_who_is_not_served_is_told_the_code_and_what_to_do():
    said = json.loads(not_served(NotTaken("it is too long", 413, fix="send less")))

    assert said["error"] == {"code": -32600, "message": "it is too long; send less", "data": {"code": "BSC-720"}}
