"""Connectors in the tools of a server, behind a runtime."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule import AgentSession, Runtime, ToolFailure, ToolResult
from bascule.config import ServerConfig, StdioTransport
from bascule.core.permission import Permission
from support.waiting import fail_after
from support.warm import python

SERVER = Path(__file__).parent.parent / "servers" / "kit_data.py"


@pytest.fixture
async def session(tmp_path: Path) -> AsyncGenerator[AgentSession]:
    transport = StdioTransport(command=python(), args=(str(SERVER), str(tmp_path / "payroll.db")))
    config = ServerConfig(
        name="data",
        transport=transport,
        isolated=transport,
        kit=True,
        trust=frozenset({"labels"}),
        permissions={
            "ask": frozenset({Permission.READ}),
            "show": frozenset({Permission.READ}),
            "save": frozenset({Permission.WRITE}),
        },
    )
    async with fail_after(120), Runtime.from_servers({"data": config}) as runtime:
        yield runtime.session("alice", "s-1")


@pytest.mark.requirement("KIT-4")
@pytest.mark.long
async def test_a_sources_sensitivity_is_known_to_the_client_before_its_rows_are(session: AgentSession):
    outcome = await session.call("data_ask", {"sql": "SELECT name, amount FROM salaries ORDER BY amount LIMIT 2"})

    assert isinstance(outcome, ToolResult), outcome
    assert "person 1" in outcome.text
    assert (session.sensitivity.name, str(outcome.lane)) == ("CONFIDENTIAL", "open")
    assert [receipt.cause.by for receipt in session.receipts] == ["label"]
    again = await session.call("data_ask", {"sql": "SELECT count(*) AS n FROM salaries"})
    assert isinstance(again, ToolResult), again
    assert str(again.lane) == "sealed"


@pytest.mark.requirement("KIT-4", "KIT-5")
@pytest.mark.parametrize("sql", ["DELETE FROM salaries", "SELECT * FROM hidden", "SELECT 1; DROP TABLE salaries"])
@pytest.mark.long
async def test_a_question_that_may_not_be_asked_is_told_to_the_model(session: AgentSession, sql: str):
    refused = await session.call("data_ask", {"sql": sql})

    assert isinstance(refused, ToolFailure)
    assert (refused.kind, refused.retriable) == ("tool_error", True)
    counted = await session.call("data_ask", {"sql": "SELECT count(*) AS n FROM salaries"})
    assert isinstance(counted, ToolResult), counted
    assert "500" in counted.text


@pytest.mark.requirement("RES-5")
@pytest.mark.long
async def test_a_long_answer_is_shown_in_part_and_lies_whole_in_the_workspace(session: AgentSession):
    outcome = await session.call("data_ask", {"sql": "SELECT name, amount FROM salaries ORDER BY amount"})

    assert isinstance(outcome, ToolResult), outcome
    (saved,) = session.workspace.list("/workspace/results")
    assert "person 250" in session.workspace.read_text(f"/workspace/results/{saved.name}")
    assert "person 250" not in outcome.text
    assert "/workspace/results/" in outcome.text
    assert len(outcome.text) < 10_000


@pytest.mark.requirement("KIT-4")
@pytest.mark.long
async def test_files_are_those_of_the_agents_workspace_and_no_others(session: AgentSession):
    assert isinstance(await session.call("data_save", {"path": "a/b.txt", "text": "hello"}), ToolResult)
    shown = await session.call("data_show", {"path": "/workspace/a/b.txt"})
    assert isinstance(shown, ToolResult), shown
    assert "hello" in shown.text
    assert session.workspace.read_text("a/b.txt") == "hello"

    out = await session.call("data_show", {"path": "../../../etc/passwd"})
    assert isinstance(out, ToolFailure)
    assert (out.kind, out.retriable) == ("tool_error", True)
    assert "/workspace" in out.message
