"""Tools as dataclasses: what a schema says becomes a type, whatever its author has called things."""

import dataclasses
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest

from bascule import UNSET, Unset
from bascule.core.errors import InvalidArguments, UnknownTool
from bascule.core.outcome import FailureKind
from support.runtime import a_tool, at_work, bad, calls_in, good, obeying

pytestmark = pytest.mark.requirement("TYP-1")

ISSUE: dict[str, Any] = {
    "properties": {
        "owner": {"type": "string"},
        "number": {"type": "integer"},
        "weight": {"type": "number"},
        "draft": {"type": "boolean"},
        "parent": {"type": "null"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "state": {"enum": ["open", "closed"]},
        "kind": {"const": "issue"},
        "body": {"type": ["string", "null"]},
        "assignee": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/User"}]},
        "fields": {"type": "object", "additionalProperties": {"type": "integer"}},
        "any": True,
        "thread": {"$ref": "#/$defs/Comment"},
    },
    "required": ["owner"],
    "additionalProperties": False,
    "$defs": {
        "User": {
            "type": "object",
            "properties": {"login": {"type": "string"}},
            "required": ["login"],
            "additionalProperties": False,
        },
        "Comment": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "replies": {"items": {"$ref": "#/$defs/Comment"}, "type": "array"},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    },
}


async def test_every_kind_of_argument_has_its_type(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("create_issue", ISSUE), name="github")) as session:
        typed = await session.typed("github_create_issue")

    hints = get_type_hints(typed.params)
    assert typed.params.__name__ == "GithubCreateIssueParams"
    assert hints["owner"] is str
    assert hints["number"] == int | Unset
    assert hints["weight"] == float | Unset
    assert hints["draft"] == bool | Unset
    assert hints["parent"] == None | Unset
    assert hints["labels"] == list[str] | Unset
    assert hints["state"] == Literal["open", "closed"] | Unset
    assert hints["kind"] == Literal["issue"] | Unset
    assert hints["body"] == str | None | Unset
    assert hints["fields"] == dict[str, int] | Unset
    assert hints["any"] == Any | Unset
    user, comment = hints["assignee"].__args__[1], hints["thread"].__args__[0]
    assert get_type_hints(user) == {"login": str}
    assert get_type_hints(comment) == {"text": str, "replies": list[comment] | Unset}
    assert typed.exact
    for made in (typed.params, user, comment):
        assert made.__dataclass_params__.frozen
        assert "__slots__" in vars(made)


async def test_an_instance_is_what_a_tool_is_called_with(tmp_path: Path):
    log = tmp_path / "log"
    given = {"owner": "o", "assignee": {"login": "ada"}, "thread": {"text": "a", "replies": [{"text": "b"}]}}
    async with at_work(obeying(log, a_tool("create_issue", ISSUE), name="github")) as session:
        typed = await session.typed("github_create_issue")
        issue = typed.load(given)
        assert good(await session.call("github_create_issue", issue))
        assert good(await session.call("github_create_issue", given))

    assert issue.thread.replies[0].text == "b"
    assert [call["arguments"] for call in calls_in(log)] == [given, given]


async def test_what_was_not_given_never_travels_and_none_does(tmp_path: Path):
    log = tmp_path / "log"
    schema = {"properties": {name: {"type": ["string", "null"], "default": "d"} for name in ("a", "b", "c")}}
    async with at_work(obeying(log, a_tool("act", schema))) as session:
        params: Any = (await session.typed("work_act")).params
        assert params(a="x").b is UNSET
        assert good(await session.call("work_act", params(a="x", c=None)))
        assert good(await session.call("work_act", params()))

    assert [call["arguments"] for call in calls_in(log)] == [{"a": "x", "c": None}, {}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"owner": 7},
        {"owner": UNSET},
        {"owner": "o", "labels": [UNSET]},
        {"owner": "o", "state": "gone"},
        {"owner": "o", "number": True},
        {"owner": "o", "assignee": {"login": "ada", "extra": 1}},
    ],
)
async def test_an_instance_made_by_hand_is_checked_like_any_arguments(tmp_path: Path, wrong: dict[str, Any]):
    log = tmp_path / "log"
    async with at_work(obeying(log, a_tool("create_issue", ISSUE), name="github")) as session:
        params: Any = (await session.typed("github_create_issue")).params
        bad(await session.call("github_create_issue", params(**wrong)), FailureKind.INVALID_ARGUMENTS)

    assert calls_in(log) == []


async def test_unknown_arguments_are_refused_where_the_schema_forbids_them_and_kept_where_not(tmp_path: Path):
    log = tmp_path / "log"
    closed = a_tool("closed", {"properties": {"a": {}}, "additionalProperties": False})
    opened = a_tool("opened", {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}})
    async with at_work(obeying(log, closed, opened)) as session:
        refusing, taking = await session.typed("work_closed"), await session.typed("work_opened")
        params: Any = refusing.params
        with pytest.raises(TypeError):
            params(a=1, b=2)
        with pytest.raises(InvalidArguments, match="b"):
            refusing.load({"a": 1, "b": 2})
        bad(await session.call("work_closed", {"a": 1, "b": 2}), FailureKind.INVALID_ARGUMENTS)
        with pytest.raises(InvalidArguments):
            taking.load({"b": "two"})
        assert good(await session.call("work_opened", taking.load({"b": 2})))

    assert [call["arguments"] for call in calls_in(log)] == [{"b": 2}]


AWKWARD = [
    *("class", "from", "None", "1st", "a-b", "a_b", "a.b", "_x", "x", "__x", "self", "cls", "session", "additional"),
    *(
        "__init__",
        "__class__",
        "__slots__",
        "__dict__",
        "__eq__",
        "keys",
        "items",
        "list",
        "str",
        "Any",
        "UNSET",
        "field",
    ),
    *(
        "",
        " ",
        "größe",
        "日本",
        "日本語",
        "\n",
        '"',
        "\u202e",
        "WorkActParams",
        "WorkActParamsInner",
        "WorkActResult",
        "inner",
    ),
]


async def test_arguments_of_any_name_can_be_given(tmp_path: Path):
    log = tmp_path / "log"
    schema: dict[str, Any] = {
        "properties": {name: {"type": "string"} for name in AWKWARD}
        | {"inner": {"type": "object", "properties": {name: {"type": "string"} for name in AWKWARD}}},
        "required": AWKWARD[::2],
        "additionalProperties": False,
    }
    inner = {name: f"inner {name}" for name in AWKWARD}
    given = {name: f"outer {name}" for name in AWKWARD} | {"inner": inner}
    async with at_work(obeying(log, a_tool("act", schema))) as session:
        typed = await session.typed("work_act")
        assert good(await session.call("work_act", typed.load(given)))
        fields = {field.metadata.get("json", field.name): field.name for field in dataclasses.fields(typed.params)}
        by_hand = {fields[name]: value for name, value in given.items()} | {fields["inner"]: inner}
        assert good(await session.call("work_act", typed.params(**by_hand)))

    assert [call["arguments"] for call in calls_in(log)] == [given, given]
    assert fields.keys() == {*AWKWARD}
    assert (fields["a_b"], fields["x"], fields["class"], fields["self"]) == ("a_b", "x", "class_", "self")
    assert len({*fields.values()}) == len(AWKWARD)


async def test_five_hundred_arguments_can_be_given(tmp_path: Path):
    schema: dict[str, Any] = {"properties": {f"p{n}": {"type": "integer"} for n in range(500)}}
    async with at_work(obeying(tmp_path / "log", a_tool("act", schema))) as session:
        typed = await session.typed("work_act")
        given = {f"p{n}": n for n in range(500)}
        assert good(await session.call("work_act", typed.load(given)))

    assert calls_in(tmp_path / "log")[0]["arguments"] == given


async def test_a_structured_result_is_loaded_as_its_type(tmp_path: Path):
    output = {
        "type": "object",
        "properties": {"number": {"type": "integer"}, "url": {"type": "string"}},
        "required": ["number"],
    }
    tool = a_tool("create", outputSchema=output)
    reply = {"content": [], "structuredContent": {"number": 7}, "resultType": "complete"}
    async with at_work(obeying(tmp_path / "log", tool)) as session:
        typed = await session.typed("work_create")
        outcome = good(await session.call("work_create", {"result": reply}))
        created = typed.load_result(outcome.structured)

    assert typed.result.__name__ == "WorkCreateResult"
    assert (created.number, created.url) == (7, UNSET)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"n": {"type": "integer", "minimum": 1}}}, "n: `minimum`"),
        ({"properties": {"n": {"allOf": [{"type": "string"}, {"maxLength": 3}]}}}, "n: `allOf`"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, "`if`"),
    ],
)
async def test_what_a_type_cannot_say_is_marked_and_the_schema_still_holds(
    tmp_path: Path, schema: dict[str, Any], reason: str
):
    async with at_work(obeying(tmp_path / "log", a_tool("act", schema))) as session:
        typed = await session.typed("work_act")
        assert not typed.exact
        assert typed.inexact[0].startswith(reason)
        tried = [{"n": 0.5}, {"n": "long"}, {"n": 0}, {"a": 1}]
        refused = [given for given in tried if not (await session.call("work_act", given)).ok]

    assert refused
    for given in refused:
        with pytest.raises(InvalidArguments):
            typed.load(given)


async def test_types_are_made_once_and_anew_only_for_another_tool(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", a_tool("act", ISSUE), a_tool("other", ISSUE))) as session:
        by_name, (act, other) = await session.typed("work_act"), await session.tools()
        assert (await session.typed(act)).params is by_name.params
        assert (await session.typed(other)).params is not by_name.params
        with pytest.raises(UnknownTool, match="did you mean work_act"):
            await session.typed("work_akt")
