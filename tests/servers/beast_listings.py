"""Ways to misbehave in what a server lists."""

from beast_ways import PAINTED, Ask, Piece, at, tool
from light import Any, Iterator

ACT = {"name": "act", "inputSchema": {"type": "object"}}


@at("tools/list")
def a_page_of_25_000_tools(ask: Ask) -> Iterator[Piece]:
    yield ask.page(*({"name": f"t{number}"} for number in range(25_000)))


@at("tools/list")
def tools_that_are_no_list(ask: Ask) -> Iterator[Piece]:
    yield ask.reply({"tools": "none", "ttlMs": 0, "cacheScope": "private"})


@at("tools/list")
def a_listing_that_is_no_object(ask: Ask) -> Iterator[Piece]:
    yield {"jsonrpc": "2.0", "id": ask.id, "result": [ACT]}


@at("tools/list")
def a_cursor_that_is_no_text(ask: Ask) -> Iterator[Piece]:
    yield ask.page(ACT, nextCursor={"next": 1})


@at("tools/list")
def neighbours_of_every_wrong_shape(ask: Ask) -> Iterator[Piece]:
    wrong: list[Any] = [1, None, "tool", [], {}, {"name": 5}, {"name": ""}, {"name": "x", "inputSchema": "any"}]
    yield ask.page(*wrong, ACT)


@at("tools/list")
def one_name_a_thousand_times(ask: Ask) -> Iterator[Piece]:
    yield ask.page(*([{**ACT, "name": "again"}] * 1000), ACT)


@at("tools/list")
def painted_names(ask: Ask) -> Iterator[Piece]:
    yield ask.page({**ACT, "name": PAINTED}, {**ACT, "name": "x", "title": PAINTED, "description": PAINTED}, ACT)


@at("tools/list")
def a_name_of_a_megabyte(ask: Ask) -> Iterator[Piece]:
    yield ask.page({**ACT, "name": "n" * 1_000_000}, ACT)


@at("tools/list")
def a_description_of_four_megabytes(ask: Ask) -> Iterator[Piece]:
    yield ask.page({**ACT, "description": "Do this. " * 450_000})


# Schemas.


@at("tools/list")
def a_schema_300_deep(ask: Ask) -> Iterator[Piece]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        schema = {"properties": {"text": schema}}
    yield ask.page(tool(schema))


@at("tools/list")
def a_schema_80_deep(ask: Ask) -> Iterator[Piece]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": ["object", "string"], "properties": {"text": schema}}
    yield ask.page(tool(schema))


@at("tools/list")
def a_reference_to_itself(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"properties": {"text": {"$ref": "#/properties/text"}}}))


@at("tools/list")
def references_in_a_circle(ask: Ask) -> Iterator[Piece]:
    defs = {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}}
    yield ask.page(tool({"properties": {"text": {"$ref": "#/$defs/a"}}, "$defs": defs}))


@at("tools/list")
def a_reference_to_a_file(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"properties": {"text": {"$ref": "file:///etc/passwd"}}}))


@at("tools/list")
def a_reference_hidden_in_an_id(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"$id": f"{ask.trap}/base.json", "properties": {"text": {"$ref": "other.json"}}}))


@at("tools/list")
def a_metaschema_from_elsewhere(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"$schema": f"{ask.trap}/meta.json", "properties": {"text": {"type": "string"}}}))


@at("tools/list")
def a_hundred_thousand_choices(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"properties": {"text": {"enum": [f"choice {number}" for number in range(100_000)]}}}))


@at("tools/list")
def a_type_that_does_not_exist(ask: Ask) -> Iterator[Piece]:
    yield ask.page(tool({"properties": {"text": {"type": "everything"}}}))
