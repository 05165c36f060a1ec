"""What will travel is out of its caller's reach before anything is waited for."""

from typing import Any

import msgspec
import pytest

from bascule.core.call import Inquiry, ToolCall
from bascule.runtime.prepared_call import Prepared, values_of, with_own_arguments


def test_arguments_of_its_own_do_not_change_with_the_callers():
    given: dict[str, Any] = {"rows": [1], "more": {"deep": [{}]}}
    call = ToolCall("work_act", given, 5.0, lambda *_: None)
    own = with_own_arguments(call)
    given["rows"].append(2)
    given["more"]["deep"][0]["secret"] = True

    assert own.arguments == {"rows": [1], "more": {"deep": [{}]}}
    assert (own.name, own.timeout, own.on_progress) == (call.name, call.timeout, call.on_progress)


@pytest.mark.parametrize("value", [object(), "\ud800"], ids=["object", "half a character"])
def test_what_json_cannot_say_is_left_to_be_refused(value: Any):
    call = ToolCall("work_act", {"value": value})

    assert with_own_arguments(call) is call


def test_every_kind_of_request_keeps_what_else_it_has():
    own = with_own_arguments(Inquiry("notes://1", {"a": "b"}, 3.0, server="notes"))

    assert (own.name, own.arguments, own.timeout, own.server) == ("notes://1", {"a": "b"}, 3.0, "notes")


def test_what_travels_for_the_caller_can_be_looked_at_whole():
    call = Prepared("tools/call", "work", {"name": "act", "arguments": msgspec.Raw(b'{"a":1}')})
    read = Prepared("resources/read", "work", {"uri": "note://1"})

    assert values_of(call) == {"a": 1}
    assert values_of(read) == {"uri": "note://1"}
