"""Arguments held against the tool's own schema, whatever that schema is."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.outcome import FailureKind
from bascule.core.tool import ToolStatus
from support.http_servers import Asked, http_reply, raw_server
from support.runtime import a_tool, at_work, bad, calls_in, good, obeying

ISSUE: dict[str, Any] = {
    "properties": {
        "title": {"type": "string", "minLength": 1},
        "labels": {"type": "array", "items": {"enum": ["bug", "idea"]}},
        "due": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "^[0-9]{4}$"}]},
        "author": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
    "required": ["title"],
    "additionalProperties": False,
}


@pytest.mark.requirement("TYP-2")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "missing argument 'title'"),
        ({"title": ""}, "'title'"),
        ({"title": "t", "labels": ["bug", "wish"]}, "'labels[1]'"),
        ({"title": "t", "due": "soon"}, "'due'"),
        ({"title": "t", "author": {"id": "7"}}, "'author.id'"),
        ({"title": "t", "author": {}}, "'author.id'"),
        ({"title": "t", "extra": 1}, "extra"),
        ({"title": True}, "'title'"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name_before_anything_is_sent(
    tmp_path: Path, arguments: dict[str, Any], told: str
):
    log = tmp_path / "log"
    async with at_work(obeying(log, a_tool("create", ISSUE))) as session:
        failure = bad(await session.call("work_create", arguments), FailureKind.INVALID_ARGUMENTS)

    assert told in failure.message
    assert "create(title: string" in failure.message
    assert "bascule inspect work_create" in failure.fix
    assert calls_in(log) == []


@pytest.mark.requirement("TYP-2")
async def test_arguments_that_fit_are_sent(tmp_path: Path):
    log = tmp_path / "log"
    given = {"title": "t", "labels": ["bug"], "due": None, "author": {"id": 7, "name": "Ada"}}
    async with at_work(obeying(log, a_tool("create", ISSUE))) as session:
        assert good(await session.call("work_create", given))

    assert calls_in(log)[0]["arguments"] == given


SEVEN = "http://json-schema.org/draft-07/schema#"
NEWEST = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.requirement("TYP-2")
@pytest.mark.parametrize(
    ("schema", "fits", "misfit"),
    [
        ({"$schema": SEVEN, "properties": {"a": {"items": [{"type": "string"}]}}}, {"a": ["x", 1]}, {"a": [1]}),
        ({"$schema": SEVEN, "dependencies": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"$schema": NEWEST, "properties": {"a": {"prefixItems": [{"type": "string"}]}}}, {"a": ["x", 1]}, {"a": [1]}),
        ({"$schema": NEWEST, "dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
        ({"properties": {"a": {"prefixItems": [{"type": "string"}]}}}, {"a": ["x", 1]}, {"a": [1]}),
        ({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}, {"a": 1}, {"a": "1"}),
        (
            {"definitions": {"t": {"properties": {"next": {"$ref": "#/definitions/t"}}, "type": "object"}}}
            | {"$schema": SEVEN, "properties": {"a": {"$ref": "#/definitions/t"}}},
            {"a": {"next": {"next": {}}}},
            {"a": {"next": {"next": 1}}},
        ),
    ],
)
async def test_each_schema_is_read_in_its_own_draft(
    tmp_path: Path, schema: dict[str, Any], fits: dict[str, Any], misfit: dict[str, Any]
):
    async with at_work(obeying(tmp_path / "log", a_tool("act", schema))) as session:
        assert good(await session.call("work_act", fits))
        bad(await session.call("work_act", misfit), FailureKind.INVALID_ARGUMENTS)


@pytest.mark.requirement("TYP-2", "LIM-4")
@pytest.mark.parametrize("place", ["input", "output"])
async def test_no_reference_is_ever_fetched_and_only_that_tool_is_refused(tmp_path: Path, place: str):
    async def answer(asked: Asked, writer: Any) -> None:
        writer.write(http_reply(b"{}"))

    async with raw_server(answer) as elsewhere:
        pointing = {"type": "object", "properties": {"a": {"$ref": elsewhere.url}}}
        tool = {"name": "bad", "inputSchema": pointing if place == "input" else {"type": "object"}}
        tool |= {"outputSchema": pointing} if place == "output" else {}
        async with at_work(obeying(tmp_path / "log", tool, a_tool("fine"))) as session:
            assert [spec.name for spec in await session.tools()] == ["work_fine"]
            refused = bad(await session.call("work_bad", {"a": 1}), FailureKind.DENIED)
            (spec,) = [spec for spec in session.toolbox.all_specs() if spec.key.tool == "bad"]
            assert good(await session.call("work_fine", {}))

    assert elsewhere.connections == 0
    assert spec.status is ToolStatus.UNUSABLE
    assert spec.problem
    assert spec.problem in refused.message
    assert len(calls_in(tmp_path / "log")) == 1


def doubling(depth: int) -> dict[str, Any]:
    """A schema whose check doubles at every level."""
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(depth)}
    return {"$defs": {**levels, f"l{depth}": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/l0"}}}


@pytest.mark.requirement("TYP-2", "LIM-4")
async def test_a_schema_that_costs_too_much_refuses_its_tool_alone(tmp_path: Path):
    costly, cheap = a_tool("costly", doubling(40)), a_tool("cheap", doubling(3))
    async with at_work(obeying(tmp_path / "log", costly, cheap)) as session:
        assert [spec.name for spec in await session.tools()] == ["work_cheap"]
        refused = bad(await session.call("work_costly", {"a": "x"}), FailureKind.DENIED)
        bad(await session.call("work_cheap", {"a": "x"}), FailureKind.INVALID_ARGUMENTS)

    assert "schema cannot be used" in refused.message
    assert calls_in(tmp_path / "log") == []


BY_URI: dict[str, Any] = {
    "$id": "https://example.test/params",
    "properties": {"tree": {"$ref": "strict"}, "about": {"$ref": "https://json-schema.org/draft/2020-12/schema"}},
    "$defs": {
        "tree": {
            "$id": "tree",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$dynamicRef": "#node"}}},
        },
        "strict": {"$id": "strict", "$dynamicAnchor": "node", "$ref": "tree", "unevaluatedProperties": False},
    },
}


@pytest.mark.requirement("TYP-2")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"tree": {"name": "a", "below": [{"name": "b"}]}, "about": {"type": "object"}}, ""),
        ({"tree": {"name": 7}}, "tree.name"),
        ({"tree": {"below": [{"nmae": "b"}]}}, "tree"),
        ({"about": {"type": "nothing"}}, "about"),
    ],
)
async def test_a_schema_may_refer_by_uris_to_its_own_parts_and_to_what_defines_its_draft(
    tmp_path: Path, arguments: dict[str, Any], told: str
):
    async with at_work(obeying(tmp_path / "log", a_tool("plant", BY_URI))) as session:
        outcome = await session.call("work_plant", arguments)

    if told:
        assert told in bad(outcome, FailureKind.INVALID_ARGUMENTS).message
    else:
        assert good(outcome)
