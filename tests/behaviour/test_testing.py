"""What authors test their own servers and agents with: real calls, in this process, on somebody's behalf."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, ToolFailure, ToolResult
from bascule.kit import (
    DataSensitivity,
    PrivateData,
    ToolFatalError,
    ToolPermission,
    ToolRetryError,
    create_mcp_server,
    get_session_id,
    get_user_id,
    tool_permission,
)
from bascule.testing import Calls, client
from bascule.workspace import current_workspace
from support import warm
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("KIT-9")


def a_server() -> Any:
    mcp = create_mcp_server("records")

    @mcp.tool
    @tool_permission(ToolPermission.WRITE)
    def note(text: str) -> dict[str, str]:
        """Keep a note."""
        if not text:
            raise ToolRetryError("a note has words", code="empty")
        workspace = current_workspace()
        assert workspace is not None
        workspace.write_text("note.txt", text)
        return {"user": get_user_id(), "session": get_session_id()}

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def salaries() -> list[int]:
        """What everybody earns."""
        PrivateData().add_private_dataset("salaries", DataSensitivity.CONFIDENTIAL)
        return [3, 1, 2]

    @mcp.tool
    @tool_permission(ToolPermission.CONNECT)
    def publish(text: str) -> str:
        """Tell the world."""
        return f"published {text}"

    @mcp.tool
    @tool_permission(ToolPermission.READ)
    def broken() -> str:
        """Cannot go on."""
        raise ToolFatalError("the books are closed")

    return mcp


async def test_outcomes_are_those_of_the_runtime():
    async with fail_after(30), client(a_server(), user="alice", session="s-1") as c:
        outcome = await c.call("note", {"text": "a"})
        assert isinstance(outcome, ToolResult)
        assert outcome.structured == {"user": "alice", "session": "s-1"}
        assert c.workspace.read_text("/workspace/note.txt") == "a"

        kinds = {}
        for tool, arguments in (("note", {"text": ""}), ("note", {"text": 7}), ("broken", {}), ("nothing", {})):
            failure = await c.call(tool, arguments)
            assert isinstance(failure, ToolFailure)
            kinds[f"{tool} {arguments}"] = (str(failure.kind), failure.retriable, failure.tool_code)

    assert kinds == {
        "note {'text': ''}": ("tool_error", True, "empty"),
        "note {'text': 7}": ("invalid_arguments", False, None),
        "broken {}": ("fatal", False, None),
        "nothing {}": ("unknown_tool", False, None),
    }


async def test_several_principals_use_one_server_each_with_what_is_theirs(scale: int):
    async with fail_after(60), client(a_server()) as c:
        people = [c.of(f"user-{number}", "s-1") for number in range(10 * scale)]
        await asyncio.gather(*(one.result("note", {"text": one.session.principal.user_id}) for one in people))
        await people[0].result("salaries")

        assert [one.workspace.read_text("note.txt") for one in people] == [
            one.session.principal.user_id for one in people
        ]
        assert [one.sensitivity.name for one in people] == ["CONFIDENTIAL", *["PUBLIC"] * (len(people) - 1)]
        assert (await people[0].failure("publish", {"text": "a"})).kind == "denied"
        await people[1].result("publish", {"text": "a"})


async def an_agent(session: AgentSession) -> None:
    """What an author would test: an agent that publishes the salaries if it can."""
    found = await session.call("salaries")
    assert isinstance(found, ToolResult)
    if not (await session.call("publish", {"text": found.text})).ok:
        await session.call("note", {"text": "not published"})


async def test_what_an_agent_calls_is_recorded_in_order_with_arguments_and_outcomes():
    calls = Calls()
    async with fail_after(30), client(a_server(), user="alice", calls=calls) as c:
        await an_agent(c.session)

    assert calls.tools == ["salaries", "publish", "note"]
    assert calls.one("note").arguments == {"text": "not published"}
    assert [call.outcome.ok for call in calls if call.outcome is not None] == [True, False, True]
    assert {call.principal.user_id for call in calls} == {"alice"}


async def test_the_developers_own_state_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "developers"))
    server = a_server()
    for _ in range(2):
        async with fail_after(30), client(server, user="alice") as c:
            # The second one has seen nothing of what the first has.
            await c.result("publish", {"text": "a"})
            await c.result("note", {"text": "a"})
            await c.result("salaries")

    assert list(tmp_path.iterdir()) == []


AN_AUTHORS_TEST = """
import pytest

from bascule.kit import ToolPermission, create_mcp_server, get_user_id, tool_permission

mcp = create_mcp_server("records")


@mcp.tool
@tool_permission(ToolPermission.READ)
def who() -> dict[str, str]:
    return {"user": get_user_id()}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_who(bascule_client, bascule_calls, bascule_home):
    async with bascule_client(mcp, user="alice", session="s-1") as c:
        assert (await c.result("who")).structured == {"user": "alice"}
    assert bascule_calls.tools == ["who"]
    assert bascule_home.is_dir()


@pytest.mark.anyio
async def test_that_fails(bascule_client):
    async with bascule_client(mcp) as c:
        await c.failure("who")
"""


async def pytest_in(folder: Path, python: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        cwd=folder,
        env={**os.environ, "BASCULE_HOME": str(folder / "developers")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with fail_after(60, "a run of pytest"):
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.long
async def test_the_plugin_is_there_in_a_project_of_ones_own(tmp_path: Path):
    (tmp_path / "test_records.py").write_text(AN_AUTHORS_TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    code, out = await pytest_in(tmp_path, warm.python())

    assert code == 1, out
    assert "1 failed, 1 passed" in out
    assert "who did not fail, and gave user: tester" in out
    assert not (tmp_path / "developers").exists()


@pytest.mark.long
async def test_a_project_that_does_not_use_the_plugin_loads_nothing_of_it(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_other():\n"
        "    ours = {name for name in sys.modules if name.partition('.')[0] in {'bascule', 'msgspec', 'mcp', 'fastmcp'}}\n"
        "    assert ours == {'bascule', 'bascule.testing', 'bascule.testing.plugin'}\n"
    )

    code, out = await pytest_in(tmp_path, sys.executable)

    assert code == 0, out
