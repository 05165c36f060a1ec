"""Tools as the text of a module: typed, working, and without a word of a server's that is code."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.catalog.typed.shape import Again, Either, ListOf, MapOf, Plain, Struct
from bascule.catalog.typed.stub_module import TITLE, docstring, literal, module_of, structs_in
from bascule.core.errors import ProtocolViolation
from bascule.core.tool import ToolKey, ToolSpec

Schema = dict[str, Any]
EMPTY: Schema = {"type": "object", "additionalProperties": False}


def a_spec(name: str, schema: Schema | None = None, output: Schema | None = None, description: str = "") -> ToolSpec:
    key = ToolKey("work", name)
    return ToolSpec(name, key, f"sha256:{name}", description, input_schema=schema or EMPTY, output_schema=output)


def of_names(*names: str) -> Schema:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


def text_of(*specs: ToolSpec) -> str:
    return module_of(specs).text


def functions_in(text: str) -> dict[str, ast.AsyncFunctionDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.AsyncFunctionDef)}


def classes_in(text: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}


def parameters(function: ast.AsyncFunctionDef) -> dict[str, str]:
    return {arg.arg: ast.unparse(arg.annotation) for arg in function.args.kwonlyargs if arg.annotation is not None}


def test_a_function_takes_what_the_tool_takes():
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "labels": {"type": "array", "items": {"enum": ["bug", None]}},
            "author": {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False},
        },
        "required": ["title"],
    }
    text = text_of(a_spec("github_create_issue", schema))

    assert parameters(functions_in(text)["github_create_issue"]) == {
        "title": "str",
        "author": "GithubCreateIssueParamsAuthor | Unset",
        "labels": "list[None | Literal['bug']] | Unset",
    }
    assert [*classes_in(text)] == ["GithubCreateIssueParamsAuthor"]


@pytest.mark.parametrize(
    ("output", "returned"),
    [
        (None, "Outcome"),
        ({}, "Outcome"),
        ({"type": "object", "properties": {"n": {}}}, "AResult | ToolFailure"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int] | ToolFailure"),
        ({"type": ["string", "null"]}, "str | None | ToolFailure"),
    ],
)
def test_it_gives_back_what_the_tool_promises(output: Schema | None, returned: str):
    function = functions_in(text_of(a_spec("a", None, output)))["a"]

    assert function.returns is not None
    assert ast.unparse(function.returns) == returned


def test_arguments_without_a_name_can_be_given_where_the_schema_speaks_of_them():
    silent, speaking = of_names("a"), {**of_names("a"), "additionalProperties": {"type": "integer"}}

    assert [*parameters(functions_in(text_of(a_spec("t", silent)))["t"])] == ["a"]
    assert parameters(functions_in(text_of(a_spec("t", speaking)))["t"])["additional"] == "dict[str, int] | Unset"


def test_the_session_is_called_something_else_where_an_argument_has_its_name():
    (plain, clashing) = (
        functions_in(text_of(a_spec("t", of_names(name))))["t"].args.posonlyargs[0].arg for name in ("a", "session")
    )

    assert (plain, clashing) == ("session", "_session")


def test_every_tool_has_a_function_of_its_own():
    module = module_of([a_spec(name) for name in ("a-b", "a_b", "import", "str", "typed_call", "1st")])

    assert {tool.spec.name: tool.function for tool in module.tools} == {
        "1st": "tool_1st",
        "a-b": "a_b_2",
        "a_b": "a_b",
        "import": "import_",
        "str": "str_",
        "typed_call": "typed_call_",
    }
    assert functions_in(module.text).keys() == {tool.function for tool in module.tools}


def test_classes_of_different_tools_have_different_names():
    nested = {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {}}}}}
    text = text_of(
        a_spec("a-b", nested),
        a_spec("a_b", nested),
        a_spec("a", {"type": "object", "properties": {"b_params_x": nested}}),
    )

    assert len(classes_in(text)) == text.count("\nclass ")


def test_arguments_that_lead_back_to_themselves_have_a_class_too():
    schema = {"type": "object", "properties": {"inner": {"$ref": "#"}}}

    assert [*classes_in(text_of(a_spec("t", schema)))] == ["TParams"]


def test_the_text_depends_on_the_tools_alone():
    one, other = a_spec("a", of_names("x", "y")), a_spec("b", of_names("x"))

    assert text_of(one, other) == text_of(other, a_spec("a", of_names("y", "x")))
    assert text_of().startswith(TITLE)
    assert "sha256:a" in text_of(one)
    compile(text_of(), "tools.py", "exec")


def test_what_the_types_do_not_say_is_told():
    module = module_of([a_spec("t", {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})])

    assert module.tools[0].inexact == ("n: `minimum`",)
    assert "Only the schema says: n: `minimum`." in (ast.get_docstring(functions_in(module.text)["t"]) or "")


def test_a_tool_that_cannot_be_used_is_not_written():
    with pytest.raises(ProtocolViolation):
        module_of([a_spec("t", {"type": "object", "properties": {"a": {"$ref": "http://elsewhere.test"}}})])


HOSTILE = [
    '"""\nimport os\n"""',
    "'''",
    '"',
    '\\"""',
    "\\",
    'a\\\\"',
    '"""+__import__("os").system("true")+"""',
    "\r\nimport os",
    "\x0cimport os",
    "\u2028import os",
    "\x00",
    "\ud800",
    "\u202eevil",
    "{os}",
    "%s",
    "# type: ignore",
    "\N{LATIN SMALL LETTER A}" * 500,
]
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=40) | st.text("\"\\\n\r\t' ", max_size=12)


@given(TEXTS)
def test_a_docstring_holds_its_text_and_nothing_else(text: str):
    (statement,) = ast.parse(docstring(text)).body

    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Constant)
    assert isinstance(statement.value.value, str)


@given(TEXTS | st.integers() | st.booleans())
def test_a_literal_is_the_value_it_stands_for(value: Any):
    assert literal(value).isascii()
    assert ast.literal_eval(literal(value)) == value


def skeleton(text: str) -> list[str]:
    """What a module does when it is imported: kinds of statements, and whatever is called."""
    tree = ast.parse(text)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return [*sorted({type(node).__name__ for node in tree.body}), *sorted(calls)]


EXPECTED = {
    *("AsyncFunctionDef", "ClassDef", "Expr", "Import", "ImportFrom"),
    *("dataclasses.dataclass", "dataclasses.field", "typed_call"),
}


# A schema with half of a pair in it cannot be used, so it never comes here.
WHOLE = TEXTS.filter(lambda text: "\ud800" not in text)


@given(TEXTS, st.lists(WHOLE, max_size=4), WHOLE)
def test_no_word_of_a_server_becomes_code(description: str, keys: list[str], value: str):
    properties = {key: {"description": value, "enum": [value, 1]} for key in keys}
    inner = {"type": "object", "properties": properties, "required": keys[:1], "description": value}
    schema = {"type": "object", "properties": {**properties, "inner": inner}, "required": keys[1:2]}
    text = text_of(a_spec("t", schema, schema, description))

    assert {*skeleton(text)} <= EXPECTED
    compile(text.encode(), "tools.py", "exec", dont_inherit=True)


def test_structs_are_found_wherever_they_are_named():
    struct = Struct("R")

    for shape in (struct, ListOf(struct), MapOf(Either((Plain("null"), struct))), Again(ListOf(struct))):
        assert [*structs_in(shape)] == [struct]
    assert [*structs_in(Again())] == []


def test_parts_with_uris_are_classes_named_after_how_they_are_referred_to():
    schema: Schema = {
        "$id": "https://example.test/params",
        "type": "object",
        "properties": {"owner": {"$ref": "person.json"}, "tree": {"$dynamicRef": "#node"}},
        "$defs": {
            "p": {
                "$id": "person.json",
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
            "n": {
                "$dynamicAnchor": "node",
                "type": "object",
                "properties": {"below": {"type": "array", "items": {"$dynamicRef": "#node"}}},
            },
        },
    }
    module = text_of(a_spec("add", schema))

    assert {"AddParamsPerson", "AddParamsNode"} <= classes_in(module).keys()
    assert "https://example.test" not in module
