from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bascule.gateway.errors import Rejected
from bascule.gateway.mcp import legacy_methods
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.legacy_methods import Wishes, opened
from bascule.runtime.session import AgentSession
from support.hearing import URI, telling
from support.runtime import at_work
from support.servers import received
from support.waiting import until


def asked(method: str, **params: Any) -> Asked:
    return Asked(method, params, 1)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncGenerator[AgentSession]:
    async with telling("stdio", "old", tmp_path / "log") as config, at_work(config, within=60) as made:
        yield made


async def test_a_client_is_subscribed_once_and_gives_up_what_it_has_when_it_goes(session: AgentSession, tmp_path: Path):
    outlet = opened(session)
    serving = Wishes(session, outlet)
    for _ in range(2):
        assert await serving.serve(asked("resources/subscribe", uri=URI)) == {}
    assert [*outlet.resources] == [URI]
    outlet.close()
    await until(lambda: {"unsubscribe": URI} in received(tmp_path / "log"))
    assert received(tmp_path / "log").count({"subscribe": URI}) == 1
    assert session._subscriptions is not None
    assert not session._subscriptions._held


async def test_unsubscribing_is_told_to_the_server_and_never_fails(session: AgentSession, tmp_path: Path):
    outlet = opened(session)
    serving = Wishes(session, outlet)
    assert await serving.serve(asked("resources/unsubscribe", uri=URI)) == {}
    await serving.serve(asked("resources/subscribe", uri=URI))
    assert await serving.serve(asked("resources/unsubscribe", uri=URI)) == {}
    await until(lambda: {"unsubscribe": URI} in received(tmp_path / "log"))
    assert not outlet.resources


async def test_the_level_that_a_client_asks_for_is_asked_of_its_servers(session: AgentSession, tmp_path: Path):
    await session.tools()
    one, two = opened(session), opened(session)
    await Wishes(session, one).serve(asked("logging/setLevel", level="error"))
    await Wishes(session, two).serve(asked("logging/setLevel", level="debug"))
    await Wishes(session, one).serve(asked("logging/setLevel", level="info"))
    assert (one.level, two.level) == ("info", "debug")
    levels = [message["level"] for message in received(tmp_path / "log") if "level" in message]
    assert levels == ["error", "debug"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("logging/setLevel", {"level": "loud"}),
        ("logging/setLevel", {}),
        ("resources/subscribe", {"uri": 5}),
        ("resources/subscribe", {"uri": "nowhere://x"}),
        ("resources/unsubscribe", {}),
    ],
)
async def test_what_makes_no_sense_is_refused(session: AgentSession, method: str, params: dict[str, Any]):
    outlet = opened(session)
    with pytest.raises(Rejected):
        await Wishes(session, outlet).serve(asked(method, **params))
    assert not outlet.resources


async def test_without_a_session_there_is_nowhere_to_tell(session: AgentSession):
    with pytest.raises(Rejected, match="initialize"):
        await Wishes(session, None).serve(asked("resources/subscribe", uri=URI))


async def test_one_client_has_so_many_resources(session: AgentSession, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(legacy_methods, "MOST_RESOURCES", 1)
    serving = Wishes(session, opened(session))
    await serving.serve(asked("resources/subscribe", uri=URI))
    with pytest.raises(Rejected, match="1 resources"):
        await serving.serve(asked("resources/subscribe", uri="notes://two"))
    await serving.serve(asked("resources/subscribe", uri=URI))
