import gc
import sys

from bascule.core.outcome import FailureKind, ToolResult
from bascule.core.sensitivity import Lane
from bascule.records.telemetry.finished import finished_call
from support.telling import OWN, PARENT, asked, called, failure, span


def test_of_a_call_its_names_and_times_are_kept():
    ended = finished_call(called(), span(), OWN)
    assert (ended.side, ended.method, ended.tool, ended.own_name) == ("client", "tools/call", "work_act", "act")
    assert (ended.context, ended.parent, ended.ended, ended.seconds) == (OWN, PARENT, 1000.0, 0.5)
    assert (ended.version, ended.transport, ended.server, ended.lane) == ("2026-07-28", "stdio", "work", "open")
    assert ended.steps == {"send": 0.25}
    assert (ended.error, ended.failure, ended.code, ended.rpc_code) == ("", "", "", "")


def test_of_a_failure_its_class_is_kept_and_not_its_words():
    refused = failure(FailureKind.TOOL_ERROR, "BSC-405", tool_code=-32601)
    ended = finished_call(called(refused), span(), OWN)
    assert (ended.error, ended.failure, ended.code, ended.rpc_code) == ("-32601", "tool_error", "BSC-405", "-32601")
    own_code = failure(FailureKind.TOOL_ERROR, "BSC-701", tool_code="hunter22")
    assert "hunter22" not in repr(finished_call(called(own_code), span(), OWN))


def test_a_name_that_led_nowhere_is_not_kept():
    ended = finished_call(called(failure(FailureKind.UNKNOWN_TOOL, "BSC-201"), tool="hunter22", server=""), span(), OWN)
    assert (ended.tool, ended.own_name) == ("", "")


def test_a_prompt_is_named_and_a_resource_is_not():
    prompt = finished_call(asked("prompts/get", "work_greet"), span(), OWN)
    assert (prompt.prompt, prompt.own_name, prompt.tool) == ("work_greet", "greet", "")
    assert "hunter22" not in repr(finished_call(asked("resources/read", "db://hunter22"), span(), OWN))


def test_a_large_result_is_not_held():
    large = {"content": ["x" * 1000]}
    event = called(ToolResult(large, "work", "act", Lane.OPEN, {}))
    before = sys.getrefcount(large)
    ended = finished_call(event, span(), OWN)
    assert sys.getrefcount(large) == before
    assert ended not in gc.get_referrers(large)
