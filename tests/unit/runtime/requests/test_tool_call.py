"""A tool call as a kind of request: what will travel is fixed before anything is waited for."""

from typing import Any

from bascule.catalog.entry import Entry, make_entry
from bascule.core.call import ToolCall
from bascule.core.tool import ToolKey
from bascule.runtime.prepared_call import Prepared
from bascule.runtime.requests.tool_call import TOOL_CALL

REGIONAL = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


def prepared_for(entry: Entry, call: ToolCall) -> Prepared:
    return TOOL_CALL.prepare(entry, call)


def an_entry(schema: dict[str, Any] | None = None) -> Entry:
    return make_entry({"name": "act", "inputSchema": schema or {"type": "object"}}, ToolKey("work", "act"), "work_act")


def test_the_arguments_are_bytes_from_here_on():
    given: dict[str, Any] = {"rows": [1], "note": "ü"}
    prepared = prepared_for(an_entry(), ToolCall("work_act", given))
    given["rows"].append(2)
    given["more"] = True

    assert bytes(prepared.params["arguments"]) == '{"rows":[1],"note":"ü"}'.encode()


def test_a_tool_that_wants_no_headers_has_none():
    assert prepared_for(an_entry(), ToolCall("work_act", {"region": "eu"})).headers == {}


def test_arguments_that_also_travel_as_headers_are_fixed_with_the_others():
    given = {"region": "eu", "other": "x"}
    prepared = prepared_for(an_entry(REGIONAL), ToolCall("work_act", given))
    given["region"] = "us"

    assert prepared.headers == {"Mcp-Param-Region": "eu"}
    assert bytes(prepared.params["arguments"]) == b'{"region":"eu","other":"x"}'


def test_what_travels_has_the_servers_own_name_and_the_terms_of_the_call():
    prepared = prepared_for(an_entry(), ToolCall("work_act", {}, 3.0, print))

    assert (prepared.method, prepared.server, prepared.params["name"]) == ("tools/call", "work", "act")
    assert (prepared.timeout, prepared.on_progress, prepared.rounds) == (3.0, print, None)
