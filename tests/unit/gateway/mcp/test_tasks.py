"""Names of tasks, and who may use them. Whole exchanges are in tests/behaviour/test_gateway_tasks.py."""

from pathlib import Path
from typing import Any

import pytest

from bascule.core.client_features import TASKS
from bascule.core.outcome import TaskResult
from bascule.core.sensitivity import Lane
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.tasks import LIFE, Tasks
from bascule.identity.signed_state import Seal
from bascule.wire.request_meta import CAPABILITIES_KEY
from support.runtime import running, stand_in

TAKES = {CAPABILITIES_KEY: {"extensions": {TASKS: {}}}}
BEGUN = TaskResult({}, "work", "act", Lane.OPEN, {}, name="work_act", task_id="task-1", task={"status": "working"})


def asked(method: str, meta: Any = TAKES, **params: Any) -> Asked:
    return Asked(method, params, 1, meta, new=True)


async def test_a_task_has_a_name_for_a_while_and_for_one_agent_session(tmp_path: Path):
    times = [0.0]
    seal = Seal(tmp_path, lambda: times[0])
    async with running(stand_in("work", "working", tmp_path / "log")) as runtime:
        alice, bob = (Tasks(runtime.session(user, "s-1"), seal) for user in ("alice", "bob"))
        answer = alice.begun(BEGUN)
        name = answer["taskId"]
        assert (answer["resultType"], answer["status"]) == ("task", "working")
        assert alice._known(name).task == "task-1"
        with pytest.raises(Rejected, match="no such task"):
            bob._known(name)
        with pytest.raises(Rejected, match="no such task"):
            alice._known(seal.close({"for": "something else", "whose": ["alice", "s-1"]}, LIFE))
        times[0] = LIFE + 1
        with pytest.raises(Rejected, match="no such task"):
            alice._known(name)


async def test_who_does_not_take_tasks_is_told_what_is_missing(tmp_path: Path):
    async with running(stand_in("work", "working", tmp_path / "log")) as runtime:
        tasks = Tasks(runtime.session("alice", "s-1"), Seal(tmp_path, lambda: 0.0))
        for method, serve in tasks.served.items():
            with pytest.raises(Rejected) as caught:
                await serve(asked(method, {}, taskId="x", inputResponses={}))
            assert caught.value.code == -32021


async def test_answers_that_are_none_are_not_passed_on(tmp_path: Path):
    async with running(stand_in("work", "working", tmp_path / "log")) as runtime:
        tasks = Tasks(runtime.session("alice", "s-1"), Seal(tmp_path, lambda: 0.0))
        for answers in (None, [], {str(n): {} for n in range(17)}):
            with pytest.raises(Rejected, match="inputResponses"):
                await tasks.served["tasks/update"](asked("tasks/update", taskId="x", inputResponses=answers))
