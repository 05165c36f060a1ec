"""One request on a connection, as the desk sees its client."""

from collections.abc import Mapping
from typing import Any

import pytest

from bascule.core.json_types import JsonObject
from bascule.gateway.mcp.elicitation import NotAnswered
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.stdio.connection import Turn

OLD, NEW = {"roots": {}}, {"sampling": {}}
META = {"io.modelcontextprotocol/clientCapabilities": NEW}


class Noting:
    """A connection that only notes what is wanted of it."""

    capabilities: Mapping[str, Any] = OLD

    def __init__(self) -> None:
        self.done: list[Any] = []

    async def tell(self, method: str, params: JsonObject) -> None:
        self.done.append((method, params))

    async def ask(self, method: str, params: JsonObject) -> Any:
        return {"asked": method, **params}

    def send_away(self, server: str, theirs: str) -> str:
        return f"{server} {theirs}"

    async def put_aside(self, turn: Turn, result: JsonObject) -> None:
        self.done.append((turn.key, result))

    def take_back(self, turn: Turn) -> None:
        self.done.append(turn.key)


def turn(line: Noting, *, new: bool) -> Turn:
    return Turn(line, 7, Asked("tools/call", {}, 7, META if new else {}, new))


async def test_what_a_client_can_be_asked_is_said_by_its_request_or_was_said_before():
    line = Noting()
    assert (turn(line, new=True).capabilities, turn(line, new=False).capabilities) == (NEW, OLD)


async def test_only_a_client_of_the_old_era_is_asked_by_a_request():
    line = Noting()
    assert await turn(line, new=False).ask("roots/list", {}) == {"asked": "roots/list"}
    with pytest.raises(NotAnswered):
        await turn(line, new=True).ask("roots/list", {})


async def test_where_a_person_is_sent_the_connection_names():
    assert turn(Noting(), new=False).send_away("it", "1") == "it 1"


async def test_one_that_was_let_go_is_answered():
    line = Noting()
    one = turn(line, new=True)
    assert not one.answered
    await one.tell("a", {})
    await one.let_go({"b": 1})
    one.give_up()
    assert one.answered
    assert line.done == [("a", {}), (7, {"b": 1}), 7]
