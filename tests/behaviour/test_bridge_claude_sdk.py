"""Agents of the Claude Agent SDK use a session's tools. The SDK and the CLI that it drives are the real ones; the model
that the CLI asks is ours, on this machine."""

from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import query

from bascule import AgentSession, RunStopped
from bascule.bridges.claude_sdk import options, watched
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play
from support.fake_claude import FakeClaude, fake_claude

PATIENCE = 120
"""Seconds for a run. The CLI takes two to start, and many where others need the processors."""


def content_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    content = block.get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def signal(block: dict[str, Any]) -> Signal:
    if block.get("is_error"):
        return "error"
    return "image" if any(part["type"] == "image" for part in content_of(block)) else "result"


def words(block: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in content_of(block) if part["type"] == "text")


def ran(model: FakeClaude, *, stopped: bool) -> Ran:
    return Ran(tuple(map(signal, model.shown)), tuple(map(words, model.shown)), stopped)


async def drive(session: AgentSession, calls: tuple[Call, ...], folder: Path) -> Ran:
    async with fake_claude(*calls) as model:
        made = options(session, **model.options(folder))
        stopped = False
        try:
            async for _ in watched(query(prompt="go on", options=made), made):
                pass
        except RunStopped:
            stopped = True
    return ran(model, stopped=stopped)


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    outcome = await play(tmp_path, scenario, lambda *run: drive(*run, tmp_path), within=PATIENCE)
    check("Claude Agent SDK", scenario, outcome)
