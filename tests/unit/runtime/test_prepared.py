"""What will travel is fixed before anything is waited for."""

from typing import Any

import pytest

from bascule.catalog.checks import check_arguments
from bascule.catalog.entry import Entry, make_entry
from bascule.core.call import ToolCall
from bascule.core.tool import ToolKey
from bascule.runtime.prepared import Prepared, prepare, with_own_arguments

REGIONAL = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def prepared_for(entry: Entry, call: ToolCall) -> Prepared:
    return prepare(entry, call, check_arguments(entry, call.arguments))


def an_entry(schema: dict[str, Any] | None = None) -> Entry:
    return make_entry({"name": "act", "inputSchema": schema or {"type": "object"}}, ToolKey("work", "act"), "work_act")


def test_the_arguments_are_bytes_from_here_on():
    given: dict[str, Any] = {"rows": [1], "note": "ü"}
    prepared = prepared_for(an_entry(), ToolCall("work_act", given))
    given["rows"].append(2)
    given["more"] = True

    assert bytes(prepared.arguments) == '{"rows":[1],"note":"ü"}'.encode()


def test_a_tool_that_wants_no_headers_has_none():
    assert prepared_for(an_entry(), ToolCall("work_act", {"region": "eu"})).headers == {}


def test_arguments_that_also_travel_as_headers_are_fixed_with_the_others():
    given = {"region": "eu", "other": "x"}
    prepared = prepared_for(an_entry(REGIONAL), ToolCall("work_act", given))
    given["region"] = "us"

    assert prepared.headers == {"Mcp-Param-Region": "eu"}
    assert bytes(prepared.arguments) == b'{"region":"eu","other":"x"}'


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
