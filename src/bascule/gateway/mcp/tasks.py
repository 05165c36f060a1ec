"""MCP tasks of servers, passed on to clients under sealed task ids that only their principal can use."""

from collections.abc import Awaitable, Callable
from typing import Any

from bascule.core.client_features import TASKS
from bascule.core.errors import StoreError
from bascule.core.json_types import JsonObject, as_object, is_object
from bascule.core.outcome import TaskResult, ToolFailure
from bascule.core.sensitivity import Lane
from bascule.core.tool import ToolKey
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.elicitation import NotAnswered, respondent_of
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.results import failed_call, failed_request
from bascule.identity.signed_state import Seal
from bascule.runtime.requests.tasks import TaskRef
from bascule.runtime.session import AgentSession
from bascule.wire.input_required import MAX_QUESTIONS
from bascule.wire.request_meta import CAPABILITIES_KEY, INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY
from bascule.wire.task import CANCEL, GET, TASK, UPDATE, speaks_tasks

LIFE = 30 * 24 * 3600.0
"""Seconds for which a task can be asked after. Servers forget theirs long before."""


class Tasks:
    """The tasks of one agent session. Nothing of them is kept here: a name carries all that there is to know."""

    def __init__(self, session: AgentSession, seal: Seal) -> None:
        self._session = session
        self._seal = seal
        principal = session.principal
        self._whose = [principal.user_id, principal.session_id]
        self.served: dict[str, Callable[[Asked], Awaitable[JsonObject]]] = {
            GET: self._get,
            UPDATE: self._update,
            CANCEL: self._cancel,
        }

    def begun(self, outcome: TaskResult) -> JsonObject:
        """The answer to a call whose server works on it."""
        kept = [outcome.task_id, outcome.server, outcome.tool, outcome.name, outcome.lane.value]
        try:
            sealed = self._seal.close({"task": kept, "whose": self._whose}, LIFE)
        except StoreError as error:
            raise Rejected(INTERNAL_ERROR, error.message) from error
        return {**outcome.task, "taskId": sealed, "resultType": TASK}

    async def _get(self, asked: Asked) -> JsonObject:
        outcome = await self._follow(asked)
        answer: JsonObject = {**outcome.task, "taskId": asked.params["taskId"]}
        if outcome.failure is not None:
            answer["result"] = failed_call(outcome.failure, new=True)
        elif outcome.task["status"] == "completed":
            answer["result"] = outcome.raw
        return answer

    async def _update(self, asked: Asked) -> JsonObject:
        answers = asked.params.get("inputResponses")
        if not is_object(answers) or len(answers) > MAX_QUESTIONS:
            raise Rejected(INVALID_PARAMS, f"inputResponses must be an object, with at most {MAX_QUESTIONS} answers")
        await self._follow(asked, answers)
        return {}

    async def _cancel(self, asked: Asked) -> JsonObject:
        await self._follow(asked)
        return {}

    async def _follow(self, asked: Asked, answers: JsonObject | None = None) -> TaskResult:
        capabilities = as_object(asked.meta.get(CAPABILITIES_KEY))
        if not speaks_tasks(capabilities):
            missing: JsonObject = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            raise Rejected(MISSING_CAPABILITY, "Missing required client capability", data=missing)
        ref = self._known(asked.params.get("taskId"))
        respondent = respondent_of(capabilities, _nobody)
        outcome = await self._session.follow(asked.method, ref, answers, respondent)
        if isinstance(outcome, ToolFailure):
            raise failed_request(outcome, new=True)
        return outcome

    def _known(self, sealed: object) -> TaskRef:
        """Raises `Rejected` for what was never given to this principal."""
        kept = self._seal.open(sealed) if isinstance(sealed, str) else None
        if kept is None or kept.get("whose") != self._whose or "task" not in kept:
            raise Rejected(INVALID_PARAMS, "there is no such task")
        task, server, tool, name, lane = kept["task"]
        return TaskRef(task, ToolKey(server, tool), name, Lane(lane))


async def _nobody(_method: str, _params: JsonObject) -> Any:
    raise NotAnswered("what a task asks is answered by tasks/update")
