from weakincentives.prompt import ToolResult
from weakincentives.serde import dump

from bascule.bridges.weakincentives.results import McpToolOutput, failed, output_of, succeeded
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.outcome import ToolResult as Answer
from bascule.core.sensitivity import Lane

ANSWER = Answer({"content": [{"type": "text", "text": "well"}]}, "work", "act", Lane.OPEN, {})


def test_a_model_is_shown_the_text_and_a_program_has_the_value():
    result = succeeded(ANSWER, output_of(ANSWER), "work")

    assert isinstance(result, ToolResult)
    assert (result.message, result.success, result.exclude_value_from_context) == ("well", True, True)
    assert result.value == McpToolOutput("well", ({"type": "text", "text": "well"},))
    assert (result.source, result.mcp_server) == ("mcp", "work")


def test_a_failure_is_shown_with_what_to_do_about_it():
    result = failed(ToolFailure(FailureKind.DENIED, "BSC-300", "no", fix="ask"), None)

    assert (result.message, result.success, result.value) == ("no\nask", False, None)
    assert (result.source, result.mcp_server) == ("native", None)


def test_the_framework_can_write_an_output_down():
    output = output_of(ANSWER)

    assert dump(output)["text"] == output.render() == "well"
