"""`get_mcp_client`: a PydanticAI toolset of one configured server, which moves to the isolated instance for good."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bascule.bridges.pydantic_ai import get_mcp_client
from bascule.core.errors import ConfigError, NotIdentified, UsageError
from bascule.core.principal import Principal
from bascule.kit import DataSensitivity, GovernedServer, PrivateData, get_session_id, get_user_id
from support.bridge_example import blocks
from support.kit import ALICE, BOB, WRITE, kit_server, on_behalf_of, reading, tool_permission
from support.kit_http import AUTH, bearer, listening
from support.scenarios import entry, write_yaml
from support.tokens import AUDIENCE
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("BRG-4")

WORD = "rosebud"
"""What is private."""


@dataclass
class Instance:
    """One of the two servers, and what came in over its wire."""

    name: str
    port: int = 0
    bodies: list[bytes] = field(default_factory=list[bytes])
    tokens: set[str] = field(default_factory=set[str])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def heard(self, word: str) -> bool:
        return any(word.encode() in body for body in self.bodies)

    def watching(self, app: Any) -> Any:
        async def watched(scope: Any, receive: Any, send: Any) -> None:
            self.tokens |= {value.decode() for name, value in scope.get("headers", ()) if name == b"authorization"}

            async def noted() -> Any:
                message = await receive()
                self.bodies.append(message.get("body", b""))
                return message

            await app(scope, noted, send)

        return watched


def records(folder: Path, where: str) -> GovernedServer:
    """A server of the kit with a state of its own, as if it were deployed elsewhere."""
    mcp = kit_server(folder / where, auth=AUTH, url=AUDIENCE)

    @mcp.tool
    @reading
    def secret_word() -> str:
        """A private word."""
        PrivateData().add_private_dataset("words", DataSensitivity.SECRET)
        return WORD

    @mcp.tool
    @tool_permission(WRITE)
    def note(text: str) -> str:
        """Note a word, and say where and for whom."""
        return f"{text} noted {where} for {get_user_id()}/{get_session_id()}"

    return mcp


@asynccontextmanager
async def pair(folder: Path) -> AsyncGenerator[tuple[Instance, Instance]]:
    """Both instances, and a config file that names them."""
    instances = Instance("openly"), Instance("isolated")
    async with AsyncExitStack() as stack:
        for instance in instances:
            app = instance.watching(records(folder, instance.name).http_app())
            instance.port = await stack.enter_async_context(listening(app))
        opened, isolated = instances
        trusted = {"trust": ["labels", "permissions"], "permissions": {"secret_word": "read", "note": "write"}}
        write_yaml(folder, {"records": {"url": opened.url, "url_isolated": isolated.url, **trusted}})
        async with fail_after(60, "the agents"):
            yield opened, isolated


def token_of(principal: Principal = ALICE) -> str:
    return bearer(principal.user_id, principal.session_id).removeprefix("Bearer ")


def noting() -> FunctionModel:
    """A model that notes something, asks for the word, and notes the word."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        match told(messages):
            case []:
                return ModelResponse([ToolCallPart("records_note", {"text": "hello"})])
            case [_]:
                return ModelResponse([ToolCallPart("records_secret_word", {})])
            case [_, word]:
                return ModelResponse([ToolCallPart("records_note", {"text": word.removeprefix("result: ")})])
            case _:
                return ModelResponse([TextPart("done")])

    return FunctionModel(answer)


def told(messages: list[ModelMessage]) -> list[str]:
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.model_response_str() for part in parts]


def once(text: str) -> FunctionModel:
    """A model that notes this, and is done."""

    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("done") if told(messages) else ToolCallPart("records_note", {"text": text})])

    return FunctionModel(answer)


def client(folder: Path, principal: Principal = ALICE) -> Any:
    path, who = folder / "bascule.yaml", principal
    return get_mcp_client("records", path, token_of(who), user_id=who.user_id, session_id=who.session_id)


async def test_the_call_after_the_private_word_is_answered_by_the_isolated_instance_in_the_same_run(tmp_path: Path):
    async with pair(tmp_path) as (opened, isolated):
        run = await Agent(noting(), toolsets=[client(tmp_path)]).run("go")

    assert told(run.all_messages()) == [
        "result: hello noted openly for alice/s-1",
        f"result: {WORD}",
        f"result: {WORD} noted isolated for alice/s-1",
    ]
    assert isolated.heard(WORD)
    assert not opened.heard(WORD)


async def test_it_stays_there_for_good_whoever_opens_it_again(tmp_path: Path):
    async with pair(tmp_path) as (opened, _):
        await Agent(noting(), toolsets=[client(tmp_path)]).run("go")
        opened.bodies.clear()
        # Another client: what is kept of the agent session is all that the two have in common.
        later = await Agent(once("again"), toolsets=[client(tmp_path)]).run("go")
        bobs = await Agent(once("hi"), toolsets=[client(tmp_path, BOB)]).run("go")

    assert told(later.all_messages()) == ["result: again noted isolated for alice/s-1"]
    assert not opened.heard("again")
    # Bob has seen nothing, and is where he was.
    assert told(bobs.all_messages()) == ["result: hi noted openly for bob/s-2"]


async def test_a_client_that_is_open_moves_with_what_another_one_of_its_agent_session_has_seen(tmp_path: Path):
    async with pair(tmp_path) as (opened, _), client(tmp_path) as bystander:
        before = await Agent(once("before"), toolsets=[bystander]).run("go")
        await Agent(noting(), toolsets=[client(tmp_path)]).run("go")
        after = await Agent(once("after"), toolsets=[bystander]).run("go")

    assert told(before.all_messages()) == ["result: before noted openly for alice/s-1"]
    assert told(after.all_messages()) == ["result: after noted isolated for alice/s-1"]
    assert not opened.heard("after")


async def test_both_instances_are_shown_the_token_and_nothing_else(tmp_path: Path):
    async with pair(tmp_path) as (opened, isolated):
        token = token_of()
        mine = get_mcp_client("records", tmp_path / "bascule.yaml", token, user_id="alice", session_id="s-1")
        await Agent(noting(), toolsets=[mine]).run("go")

    assert opened.tokens == isolated.tokens == {f"Bearer {token}"}
    assert token not in repr(vars(mine))


async def test_it_is_the_agent_sessions_on_whose_behalf_the_code_runs(tmp_path: Path):
    async with pair(tmp_path):
        with on_behalf_of(ALICE):
            unnamed = get_mcp_client("records", tmp_path / "bascule.yaml", token_of())
            run = await Agent(once("hello"), toolsets=[unnamed]).run("go")
            # And stays hers: it has her token.
            with on_behalf_of(BOB), pytest.raises(NotIdentified, match="another agent session's"):
                await Agent(once("hello"), toolsets=[unnamed]).run("go")

    assert told(run.all_messages()) == ["result: hello noted openly for alice/s-1"]


async def test_an_open_client_does_nothing_for_anybody_else(tmp_path: Path):
    async with pair(tmp_path) as (opened, _), client(tmp_path) as hers:
        agent = Agent(once("for bob"), toolsets=[hers])
        with on_behalf_of(BOB), pytest.raises(NotIdentified, match="another agent session's"):
            await agent.run("go")

    assert not opened.heard("for bob")


async def test_nobodys_client_is_refused(tmp_path: Path):
    async with pair(tmp_path) as (opened, _):
        with pytest.raises(NotIdentified, match="not known on whose behalf"):
            await Agent(once("hello"), toolsets=[get_mcp_client("records", tmp_path / "bascule.yaml")]).run("go")

    assert not any(opened.bodies)


async def test_several_runs_at_once_share_one_and_the_last_one_closes_it(tmp_path: Path):
    async with pair(tmp_path):
        async with client(tmp_path) as shared:
            runs = await asyncio.gather(*(Agent(once(str(n)), toolsets=[shared]).run("go") for n in range(3)))
            # Still open: somebody has entered it around the runs.
            assert "more noted" in await shared.call_tool("records_note", {"text": "more"}, None, None)
        with pytest.raises(UsageError, match="not open"):
            await shared.call_tool("records_note", {}, None, None)

    assert [told(run.all_messages())[0] for run in runs] == [
        f"result: {n} noted openly for alice/s-1" for n in range(3)
    ]


def test_a_name_that_is_not_there_is_an_error_with_the_nearest(tmp_path: Path):
    write_yaml(tmp_path, {"records": {"url": "http://127.0.0.1:1/mcp"}})

    with pytest.raises(ConfigError, match="there is no server 'record' that is connected to; did you mean \"records\""):
        get_mcp_client("record", tmp_path / "bascule.yaml")


def test_without_a_path_the_usual_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write_yaml(tmp_path, {"records": {"url": "http://127.0.0.1:1/mcp"}})
    monkeypatch.chdir(tmp_path)

    assert get_mcp_client("records").id == "records"
    monkeypatch.chdir("/")
    with pytest.raises(ConfigError, match="no configuration found"):
        get_mcp_client("records")


def test_a_server_that_cannot_be_used_says_why(tmp_path: Path):
    write_yaml(tmp_path, {"records": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-Key": "${NOT_SET_ANYWHERE}"}}})

    with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE"):
        get_mcp_client("records", tmp_path / "bascule.yaml")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bearer_token": ""}, "bearer_token is empty"),
        ({"bearer_token": "  "}, "bearer_token is empty"),
        ({"user_id": "alice"}, "go together"),
        ({"session_id": "s-1"}, "go together"),
        ({"user_id": "", "session_id": "s-1"}, "user_id must be 1 to 255"),
    ],
)
def test_what_is_half_given_is_refused(tmp_path: Path, given: dict[str, Any], message: str):
    write_yaml(tmp_path, {"records": {"url": "http://127.0.0.1:1/mcp"}})

    with pytest.raises(UsageError, match=message):
        get_mcp_client("records", tmp_path / "bascule.yaml", **given)


def test_a_process_is_shown_no_token(tmp_path: Path):
    write_yaml(tmp_path, {"work": entry("actor", tmp_path, "work")})

    with pytest.raises(UsageError, match="reached by stdio"):
        get_mcp_client("work", tmp_path / "bascule.yaml", "token")


def test_the_config_on_the_page_is_one(tmp_path: Path):
    (tmp_path / "bascule.yaml").write_text(blocks("bridge-pydantic-ai.md", "yaml")[1])

    assert get_mcp_client("records", tmp_path / "bascule.yaml", "token").id == "records"
