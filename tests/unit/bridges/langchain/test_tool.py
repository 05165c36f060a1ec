from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolNode

from bascule import RunStopped
from bascule.bridges.langchain.tool import GraphStopped, artifact_of, content_of, governed
from bascule.core.outcome import FailureKind, ToolFailure, ToolResult
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey, ToolSpec

PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
SHOWN = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
NO_SESSION: Any = None


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def result(*content: Any, **raw: Any) -> ToolResult:
    return ToolResult({"content": [*content], **raw}, "work", "act", Lane.OPEN, {})


def spec(name: str = "work_act", **more: Any) -> ToolSpec:
    return ToolSpec(name, ToolKey("work", "act"), "digest", **more)


def test_words_are_shown_as_one_text():
    assert content_of(result(text("one"), text("two"))) == "one\ntwo"


def test_pictures_are_blocks_of_their_own():
    assert content_of(result(text("see"), PICTURE)) == [text("see"), SHOWN]
    assert content_of(result(PICTURE)) == [SHOWN]


def test_an_artifact_leaves_out_what_no_checkpointer_can_store():
    assert artifact_of(result(structuredContent={"n": 2**64})) == {"server": "work", "tool": "act", "lane": "open"}
    assert artifact_of(result(structuredContent={"n": 2**64 - 1}))["structured"] == {"n": 2**64 - 1}


def test_a_failure_in_an_artifact_is_plain_data():
    told = artifact_of(ToolFailure(FailureKind.DENIED, "BSC-300", "no", "work", "act", Lane.SEALED, fix="ask"))

    assert (told["kind"], told["code"], told["lane"], told["fix"]) == ("denied", "BSC-300", "sealed", "ask")
    assert {type(value) for value in told.values()} <= {str, type(None)}


def test_a_tool_is_made_of_its_definition_and_leaves_that_as_it_is():
    schema = {"type": "object", "required": ["a"]}
    made = governed(NO_SESSION, spec(description="Acts.", input_schema=schema))

    assert (made.name, made.description) == ("work_act", "Acts.")
    assert made.tool_call_schema == {**schema, "properties": {}, "description": "Acts."}
    assert made.args == {}
    assert schema == {"type": "object", "required": ["a"]}


def test_tools_share_the_model_that_langgraph_asks_each_of_them_for():
    many = [governed(NO_SESSION, spec(f"tool_{number}")) for number in range(3)]

    assert len({made.get_input_schema() for made in many}) == 1
    assert [*ToolNode(many).tools_by_name] == ["tool_0", "tool_1", "tool_2"]


def test_what_ends_a_run_is_ours_and_bubbles_up():
    assert issubclass(GraphStopped, RunStopped)
    assert issubclass(GraphStopped, GraphBubbleUp)


def test_references_by_uri_are_not_left_to_langchain_which_fails_over_them():
    by_uri = {"type": "object", "properties": {"a": {"$ref": "urn:a"}}, "$defs": {"a": {"$id": "urn:a"}}}
    flat = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}
    made = governed(NO_SESSION, spec(input_schema=by_uri, flat_schema=flat))

    assert convert_to_openai_tool(made)["function"]["parameters"]["properties"] == {"a": {"type": "string"}}
