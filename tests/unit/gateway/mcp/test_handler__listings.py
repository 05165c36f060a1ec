from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey, ToolSpec
from bascule.gateway.mcp.handler import prompt, resource, template, tool


def test_a_tool_is_listed_by_its_exposed_name_with_what_its_server_says_of_it():
    key = ToolKey("files", "read")
    bare = ToolSpec("files_read", key, "d", input_schema={"type": "object"})
    full = ToolSpec(
        "files_read", key, "d", "Reads.", "Read", {"type": "object"}, {"type": "object"}, {"readOnlyHint": True}
    )
    assert tool(bare) == {"name": "files_read", "inputSchema": {"type": "object"}}
    assert tool(full) == {
        "name": "files_read",
        "inputSchema": {"type": "object"},
        "title": "Read",
        "description": "Reads.",
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }


def test_resources_and_templates_are_listed_apart():
    one = ResourceSpec("files", "resource", "d", uri="file:///a", name="a", mime_type="text/plain", size=3)
    many = ResourceSpec("files", "template", "d", uri_template="file:///{x}", description="Any.")
    assert resource(one) == {"name": "a", "uri": "file:///a", "mimeType": "text/plain", "size": 3}
    assert template(many) == {"name": "file:///{x}", "uriTemplate": "file:///{x}", "description": "Any."}


def test_a_prompt_is_listed_with_its_blanks():
    blanks = (PromptArgument("style", "How.", required=True), PromptArgument("length"))
    spec = PromptSpec("notes_sum", ToolKey("notes", "sum"), "d", "Sums up.", arguments=blanks)
    assert prompt(spec) == {
        "name": "notes_sum",
        "description": "Sums up.",
        "arguments": [{"name": "style", "description": "How.", "required": True}, {"name": "length"}],
    }
