from typing import Any

import pytest
from agents import RunContextWrapper, UserError
from agents.exceptions import ModelBehaviorError

from bascule import RunStopped
from bascule.bridges.openai_agents import AgentStopped, function_tool, mcp_tool, on_error, schema_of, shown
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.tool import ToolKey, ToolSpec

CONTEXT: Any = RunContextWrapper(context=None)
NO_SESSION: Any = None


def spec(**more: Any) -> ToolSpec:
    return ToolSpec("work_act", ToolKey("work", "act"), "digest", **more)


def failure(kind: FailureKind) -> ToolFailure:
    return ToolFailure(kind, "BSC-000", "it did not go", "work", "act", evidence="seen", fix="go on")


def test_a_failure_begins_with_the_word_error():
    assert shown(failure(FailureKind.DENIED)) == ("Error: it did not go\ngo on",)


def test_what_ends_a_run_is_ours_and_one_of_the_sdk_which_that_does_not_wrap():
    with pytest.raises(AgentStopped) as stopped:
        shown(failure(FailureKind.FATAL))

    assert isinstance(stopped.value, RunStopped)
    assert isinstance(stopped.value, UserError)
    assert (stopped.value.message, stopped.value.where, stopped.value.evidence, stopped.value.fix) == (
        "it did not go", "act", "seen", "go on",
    )  # fmt: skip


def test_what_ends_a_run_is_raised_on_and_what_the_model_did_wrong_is_told():
    with pytest.raises(RunStopped):
        on_error(CONTEXT, AgentStopped("gone", failure=failure(FailureKind.FATAL)))

    assert on_error(CONTEXT, ModelBehaviorError("no JSON")) == "Error: no JSON"
    assert "secret" not in on_error(CONTEXT, KeyError("secret"))


def test_a_schema_without_properties_gets_some_and_stays_as_it_was():
    schema = {"type": "object"}

    assert schema_of(spec(input_schema=schema)) == {"type": "object", "properties": {}}
    assert schema == {"type": "object"}


def test_a_tool_whose_hints_are_nonsense_is_a_tool_without_hints():
    assert mcp_tool(spec(annotations={"readOnlyHint": "perhaps"})).annotations is None
    assert mcp_tool(spec(description="Acts.")).description == "Acts."


def test_a_function_tool_has_the_schema_as_it_is():
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}
    made = function_tool(NO_SESSION, spec(input_schema=schema, description="Acts."))

    assert (made.name, made.description, made.params_json_schema) == ("work_act", "Acts.", schema)
    assert made.strict_json_schema is False
