from typing import Any, cast

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import BaseTool

from bascule.bridges.langchain.middleware import live_tools
from bascule.bridges.langchain.tool import governed
from bascule.core.tool import ToolKey, ToolSpec


class Session:
    """Offers what it is told to."""

    def __init__(self) -> None:
        self.specs: list[ToolSpec] = []

    async def offered(self) -> tuple[ToolSpec, ...]:
        return tuple(self.specs)


def spec(name: str, digest: str) -> ToolSpec:
    return ToolSpec(name, ToolKey("work", name), digest)


async def given(middleware: Any, *own: BaseTool) -> list[BaseTool]:
    """The tools that a model is asked with, where the agent was made with some of its own."""
    seen: list[Any] = []

    async def handler(request: ModelRequest[Any]) -> Any:
        seen.extend(request.tools)

    request = ModelRequest(model=FakeListChatModel(responses=[]), messages=[], tools=[*own])
    await middleware.awrap_model_call(request, handler)
    return seen


async def test_a_tool_is_made_once_for_as_long_as_its_definition_is_the_same():
    session: Any = Session()
    middleware = live_tools(session)
    session.specs = [spec("same", "1"), spec("other", "1"), spec("gone", "1")]
    before = await given(middleware)
    session.specs = [spec("same", "1"), spec("other", "2")]
    after = await given(middleware)

    assert [one.name for one in after] == ["same", "other"]
    assert after[0] is before[0]
    assert after[1] is not before[1]


async def test_what_the_agent_was_made_with_is_not_there_twice():
    session, other = Session(), Session()
    session.specs = [spec("same", "2")]
    old, foreign = governed(cast("Any", session), spec("same", "1")), governed(cast("Any", other), spec("theirs", "1"))
    seen = await given(live_tools(cast("Any", session)), old, foreign)

    assert [one.name for one in seen] == ["theirs", "same"]
    assert seen[1] is not old
