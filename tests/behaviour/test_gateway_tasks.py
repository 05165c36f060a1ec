"""A call that is answered later: a server's task, for a client that takes tasks, and for nobody else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict, Field

from bascule.config import AuthSettings
from support.gateways import ask, serving
from support.hearing import listened
from support.kit_http import AUTH, PREFIX, Line, bearer, line_to
from support.runtime import Events, stand_in, twinned
from support.scenarios import entry
from support.servers import methods, received
from support.stdio_clients import talking

pytestmark = pytest.mark.requirement("GTW-1")

TASKS = "io.modelcontextprotocol/tasks"
TAKES = {"_meta": {f"{PREFIX}/clientCapabilities": {"extensions": {TASKS: {}}}}}
DONE = {"content": [{"type": "text", "text": "done"}]}
STATES = [{"status": "working"}, {"status": "completed", "result": DONE}]


def working(folder: Path, *flags: str, log: str = "log", **config: Any) -> Any:
    return stand_in("work", "working", folder / log, *flags, **config)


@asynccontextmanager
async def connected(*servers: Any, auth: AuthSettings | None = None, **more: Any) -> AsyncGenerator[Line]:
    async with serving(*servers, auth=auth, **more) as served, line_to(served.port) as line:
        yield line


async def begin(line: Line, states: Any = STATES, **headers: Any) -> dict[str, Any]:
    params = {"name": "work_act", "arguments": {"states": states}, **TAKES}
    return (await ask(line, "tools/call", params, **headers)).message["result"]


async def follow(line: Line, method: str, task: str, answers: Any = None, **headers: Any) -> dict[str, Any]:
    given = {} if answers is None else {"inputResponses": answers}
    return (await ask(line, method, {"taskId": task, **given, **TAKES}, Mcp_Name=task, **headers)).message


async def test_a_task_is_begun_followed_and_brings_its_result(tmp_path: Path):
    events = Events()
    async with connected(working(tmp_path), events=events) as line:
        found = (await ask(line, "server/discover")).message["result"]
        begun = await begin(line)
        first = (await follow(line, "tasks/get", begun["taskId"]))["result"]
        last = (await follow(line, "tasks/get", begun["taskId"]))["result"]
        assert (await follow(line, "tasks/cancel", begun["taskId"]))["result"] == {"resultType": "complete"}
    assert found["capabilities"]["extensions"] == {TASKS: {}}
    assert (begun["resultType"], begun["status"], begun["pollIntervalMs"]) == ("task", "working", 10)
    assert (first["status"], "result" in first, first["resultType"]) == ("working", False, "complete")
    assert (last["status"], last["result"], last["taskId"]) == ("completed", DONE, begun["taskId"])
    # The server knows it by its own name, and is asked on the one path: each time with one event.
    asked = [
        message["params"]["taskId"] for message in received(tmp_path / "log") if "taskId" in message.get("params", {})
    ]
    assert asked == ["task-1"] * 3
    assert "task-1" not in begun["taskId"]
    assert [event.method for event in events.requests] == ["tasks/get", "tasks/get", "tasks/cancel"]


async def test_what_a_task_asks_is_asked_of_its_client_and_answered_by_an_update(tmp_path: Path):
    form = {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
    asks = [{"status": "input_required", "inputRequests": {"q": {"method": "elicitation/create", "params": form}}}]
    answers = {"q": {"action": "accept", "content": {}}}
    able = {"extensions": {TASKS: {}}, "elicitation": {"form": {}}}
    async with connected(working(tmp_path)) as line:
        task = (await begin(line, asks))["taskId"]
        unable = await follow(line, "tasks/get", task)
        asked = await ask(
            line, "tasks/get", {"taskId": task, "_meta": {f"{PREFIX}/clientCapabilities": able}}, Mcp_Name=task
        )
        assert (await follow(line, "tasks/update", task, answers))["result"] == {"resultType": "complete"}
        assert "error" in await follow(line, "tasks/update", task, "red")
    # Never what it does not offer to answer.
    assert "error" in unable
    assert asked.message["result"]["inputRequests"]["q"]["params"] == form
    (update,) = [message for message in received(tmp_path / "log") if message.get("method") == "tasks/update"]
    assert update["params"]["inputResponses"] == answers


async def test_a_task_is_nobody_elses_and_none_can_be_made_up(tmp_path: Path):
    alice, bob = {"Authorization": bearer("alice")}, {"Authorization": bearer("bob")}
    other = {"Authorization": bearer("alice", "s-2")}
    async with connected(working(tmp_path), auth=AUTH) as line:
        task = (await begin(line, **alice))["taskId"]
        for who in (bob, other):
            for method in ("tasks/get", "tasks/cancel"):
                assert (await follow(line, method, task, **who))["error"]["code"] == -32602
        for forged in ("task-1", task[:-1], "x" + task, task.partition(".")[0] + ".", ""):
            assert (await follow(line, "tasks/get", forged, **alice))["error"]["code"] == -32602
        assert "result" in await follow(line, "tasks/get", task, **alice)
    assert methods(tmp_path / "log").count("tasks/get") == 1


async def test_only_where_both_sides_have_tasks_is_there_one(tmp_path: Path):
    async with connected(working(tmp_path)) as line:
        plain = (await ask(line, "tools/call", {"name": "work_act"})).message["result"]
        task = (await begin(line))["taskId"]
        refused = (await ask(line, "tasks/get", {"taskId": task}, Mcp_Name=task)).message["error"]
    assert plain["content"][0]["text"] == "at once"
    assert (refused["code"], refused["data"]) == (-32021, {"requiredCapabilities": {"extensions": {TASKS: {}}}})
    async with connected(working(tmp_path, "--plain", log="plain")) as line:
        assert (await begin(line))["content"][0]["text"] == "at once"
    called = [message for message in received(tmp_path / "plain") if message.get("method") == "tools/call"]
    assert "extensions" not in called[0]["params"]["_meta"][f"{PREFIX}/clientCapabilities"]


async def test_a_task_for_a_client_that_takes_none_is_no_answer(tmp_path: Path):
    async with connected(working(tmp_path, "--insists")) as line:
        answer = (await ask(line, "tools/call", {"name": "work_act"})).message["result"]
    assert answer["isError"]
    assert "taskId" not in answer


async def test_what_a_task_brings_raises_like_any_result_and_its_lane_is_then_closed(tmp_path: Path):
    private = {**DONE, "_meta": {"dev.bascule/labels": ["secret"]}}
    states = [{"status": "completed", "result": private}]
    server = working(tmp_path, trust=("labels",))
    twin = working(tmp_path, log="twin")
    async with connected(twinned(server, twin)) as line:
        other = (await begin(line))["taskId"]
        task = (await begin(line, states))["taskId"]
        assert (await follow(line, "tasks/get", task))["result"]["result"]["content"] == DONE["content"]
        # It was delivered, the session is secret, and neither task is asked after on the open lane, nor at the twin.
        for left in (task, other):
            for method in ("tasks/get", "tasks/cancel"):
                assert "lane" in (await follow(line, method, left))["error"]["message"]
        again = (await begin(line))["taskId"]
        assert (await follow(line, "tasks/get", again))["result"]["status"] == "working"
    assert methods(tmp_path / "log").count("tasks/get") == 1
    assert methods(tmp_path / "twin").count("tasks/get") == 1


async def test_a_task_that_went_wrong_says_so_without_secrets(tmp_path: Path):
    wrong = {"content": [{"type": "text", "text": "no such door"}], "isError": True}
    async with connected(working(tmp_path)) as line:
        for states, found in (
            ([{"status": "completed", "result": wrong}], "no such door"),
            ([{"status": "failed", "error": {"code": -32603, "message": "broken"}}], "broken"),
            ([{"status": "cancelled"}], "cancelled"),
        ):
            task = (await begin(line, states))["taskId"]
            assert found in str((await follow(line, "tasks/get", task))["result"])
        for states in (
            [{"status": "flying"}],
            [{"status": "completed"}],
            [{"status": "completed", "result": {"content": 1}}],
        ):
            task = (await begin(line, states))["taskId"]
            assert (await follow(line, "tasks/get", task))["error"]["code"] == -32603


async def test_tasks_over_stdio(tmp_path: Path):
    async with talking(tmp_path, servers={"work": entry("working", tmp_path / "log")}) as talk:
        begun = await talk.ask("tools/call", {"name": "work_act", "arguments": {"states": STATES}, **TAKES})
        task = {"taskId": begun["result"]["taskId"], **TAKES}
        assert (await talk.ask("tasks/get", task))["result"]["status"] == "working"
        assert (await talk.ask("tasks/get", task))["result"]["result"] == DONE
        assert (await talk.ask("tasks/get", task, new=False))["error"]["code"] == -32601


class Begun(Result):
    """A task, as the official client is taught to read it."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")
    result_type: Literal["task"] = Field(default="task", alias="resultType")
    task_id: str = Field(alias="taskId")


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class Stands(Result):
    status: str
    result: dict[str, Any] | None = None


class Following(ClientExtension):
    """Asks after a task until it is over."""

    identifier = TASKS

    def claims(self) -> Any:
        return [ResultClaim(result_type="task", model=Begun, resolve=self._finish)]

    async def _finish(self, begun: Begun, context: ClaimContext) -> CallToolResult:
        while True:
            params = TaskParams.model_validate({"taskId": begun.task_id})
            stands = await context.session.send_request(GetTask(params=params), Stands)
            if stands.result is not None:
                return CallToolResult.model_validate(stands.result)


async def test_the_official_client_with_an_extension_of_its_own_gets_the_result(tmp_path: Path):
    async with (
        serving(working(tmp_path)) as served,
        Client(f"http://127.0.0.1:{served.port}/mcp", mode="2026-07-28", extensions=[Following()]) as client,
    ):
        result: Any = await client.call_tool("work_act", {"states": STATES})
    assert result.content[0].text == "done"


async def test_a_client_that_wants_to_be_told_of_its_task_is_told_that_it_has_to_ask(tmp_path: Path):
    async with serving(working(tmp_path)) as served, line_to(served.port) as line:
        task = (await begin(line))["taskId"]
        async with listened(served.port, taskIds=[task], toolsListChanged=True) as events:
            assert (await events.next())["params"]["notifications"] == {"toolsListChanged": True}
        assert (await follow(line, "tasks/get", task))["result"]["status"] == "working"
    asked = [message for message in received(tmp_path / "log") if message.get("method") == "subscriptions/listen"]
    assert not any("taskIds" in message["params"]["notifications"] for message in asked)
