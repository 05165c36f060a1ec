from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.tools import BaseTool

from bascule.bridges.langchain.live import live_tools
from bascule.core.tool import ToolKey, ToolSpec


class Session:
    """Offers what it is told to."""

    def __init__(self) -> None:
        self.specs: list[ToolSpec] = []

    async def offered(self) -> tuple[ToolSpec, ...]:
        return tuple(self.specs)


def spec(name: str, digest: str) -> ToolSpec:
    return ToolSpec(name, ToolKey("work", name), digest)


async def given(middleware: Any) -> list[BaseTool]:
    """The tools that a model is asked with."""
    seen: list[Any] = []

    async def handler(request: ModelRequest[Any]) -> Any:
        seen.extend(request.tools)

    await middleware.awrap_model_call(ModelRequest(model=FakeListChatModel(responses=[]), messages=[]), handler)
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
