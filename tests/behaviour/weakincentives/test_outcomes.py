"""What an outcome means for a run of weakincentives, played through its own adapter and executor."""

import asyncio
import threading
from pathlib import Path

import pytest

from bascule import Runtime
from bascule.bridges.weakincentives import McpIntegrationSection, McpRunStopped
from support.bridge_matrix import SCENARIOS, Ran, Scenario, check, configured, heard
from support.waiting import until
from support.weakincentives_runs import a_session, run


def play(folder: Path, scenario: Scenario) -> Ran:
    with McpIntegrationSection(session=a_session(), runtime=Runtime.from_file(configured(folder))) as section:
        aborting = threading.Thread(target=lambda: asyncio.run(abort(folder, section)))
        if scenario.name == "aborted":
            aborting.start()
        try:
            shown = run(folder, section, *scenario.calls).shown
        except McpRunStopped:
            return Ran((), (), stopped=True)
        finally:
            if aborting.ident is not None:
                aborting.join()
    return Ran(tuple("result" if one.success else "error" for one in shown), tuple(one.text for one in shown))


async def abort(folder: Path, section: McpIntegrationSection) -> None:
    await until(lambda: "tools/call" in heard(folder))
    section.disconnect()
    await until(lambda: "notifications/cancelled" in heard(folder))


@pytest.mark.requirement("BRG-1", "BRG-2")
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
def test_an_outcome_means_what_the_table_says(tmp_path: Path, scenario: Scenario):
    check("weakincentives", scenario, play(tmp_path, scenario))
