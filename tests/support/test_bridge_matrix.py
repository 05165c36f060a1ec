"""The scenarios themselves, played without any framework: what a session's outcomes mean is the table's first column."""

from pathlib import Path

import pytest

from bascule import AgentSession, ToolFailure
from bascule.core.failure_action import Reaction, reaction, told
from support.bridge_matrix import SCENARIOS, Call, Ran, Scenario, Signal, check, play, table


async def by_hand(session: AgentSession, calls: tuple[Call, ...]) -> Ran:
    signals: list[Signal] = []
    shown: list[str] = []
    for name, arguments in calls:
        outcome = await session.call(name, arguments)
        if not isinstance(outcome, ToolFailure):
            images = [block for block in outcome.raw["content"] if block["type"] == "image"]
            signals.append("image" if images else "result")
            shown.append(outcome.text)
            continue
        if reaction(outcome) is Reaction.STOP:
            return Ran(tuple(signals), tuple(shown), stopped=True)
        signals.append("retry" if reaction(outcome) is Reaction.RETRY else "error")
        shown.append(told(outcome))
    return Ran(tuple(signals), tuple(shown))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    check("a session", scenario, await play(tmp_path, scenario, by_hand))


def test_the_table_has_a_row_for_each_scenario_and_no_other():
    assert list(table()) == [scenario.name for scenario in SCENARIOS]
