"""Tools that a model API would refuse."""

from dataclasses import replace

from bascule.cli.doctor.servers import model_checks
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus

ODD = ToolSpec("notes_find", ToolKey("notes", "find"), "d", input_schema={"type": "object", "oneOf": [{}]})


def test_a_tool_is_told_of_once_with_all_who_refuse_it():
    (check,) = model_checks([ODD, replace(ODD, input_schema={})])

    assert check.message == "OpenAI and Anthropic would refuse every request with this tool in it"


def test_what_agents_are_not_given_is_refused_by_nobody():
    assert list(model_checks([replace(ODD, status=ToolStatus.HIDDEN)])) == []
