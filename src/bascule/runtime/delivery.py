"""Delivery of outcomes and server requests to a caller or client: in a private agent session without the addresses
(URLs) that it would open by itself. The rule of `policy/fetched_addresses.py` is applied in the step of delivery."""

from typing import TypeVar

import msgspec

from bascule.core.json_types import JsonObject
from bascule.core.outcome import ResourceResult, Result, TaskResult, ToolFailure
from bascule.core.sensitivity import Lane
from bascule.policy.fetched_addresses import AddressRule, lacks_address, without_addresses
from bascule.runtime.call_state import Trail
from bascule.runtime.failures import URL_ELICITATION_REQUIRED, VISIT, visits
from bascule.runtime.session_context import Standing
from bascule.wire.input_required import Question
from bascule.wire.results import TOOL_ERROR

AnyOutcome = TypeVar("AnyOutcome", bound=Result | ToolFailure)

DECLINE: JsonObject = {"action": "decline"}
"""Answer to an elicitation by URL whose address may not be delivered."""

NO_VISIT = "use a server or an account that needs no visit, or have an operator allow the host (`egress.allow`)"
"""Fix of an error that sends a person to an address, once that was removed."""

MOST_PLACES = 8
"""Places that one finding names."""


def delivered(standing: Standing, outcome: AnyOutcome, trail: Trail) -> AnyOutcome:
    """The outcome as its caller gets it in this step. Each removal is a finding of the request."""
    rule = standing.address_rule(trail.lane)
    if rule is None:
        return outcome
    if isinstance(outcome, ToolFailure):
        return _failure(outcome, rule, trail)
    raw = _cleaned(outcome.raw, rule, trail, outcome.uri if isinstance(outcome, ResourceResult) else "")
    if isinstance(outcome, TaskResult):
        failure = None if outcome.failure is None else _failure(outcome.failure, rule, trail)
        return msgspec.structs.replace(outcome, raw=raw, task=_cleaned(outcome.task, rule, trail), failure=failure)
    return outcome if raw is outcome.raw else msgspec.structs.replace(outcome, raw=raw)


def deliverable(standing: Standing, lane: Lane, question: Question) -> tuple[Question, tuple[str, ...]]:
    """A server request as a client may get it now, with a finding if parts were removed."""
    rule = standing.address_rule(lane)
    if rule is None:
        return question, ()
    params, places = without_addresses(question.params, rule)
    return (Question(question.method, params), (_finding(places),)) if places else (question, ())


def is_declined(question: Question) -> bool:
    """True for an elicitation by URL that has lost its address."""
    return lacks_address(question.method, question.params)


def declined_of(task: JsonObject) -> JsonObject:
    """Answers to those questions of a task that are declined."""
    return {key: dict(DECLINE) for key, each in _questions(task).items() if is_declined(each)}


def without_declined(standing: Standing, task: JsonObject) -> JsonObject:
    """The state of a task without its declined questions, at the level of this moment."""
    shown = {key: deliverable(standing, Lane.OPEN, each)[0] for key, each in _questions(task).items()}
    left = {key: {"method": each.method, "params": each.params} for key, each in shown.items() if not is_declined(each)}
    rest = {key: value for key, value in task.items() if key != "inputRequests"}
    return {**rest, "inputRequests": left} if left else {**rest, "status": "working"}


def _questions(task: JsonObject) -> dict[str, Question]:
    asked: JsonObject = task.get("inputRequests") or {}
    return {key: Question(each["method"], each["params"]) for key, each in asked.items()}


def _failure(failure: ToolFailure, rule: AddressRule, trail: Trail) -> ToolFailure:
    cause = failure.cause
    if failure.code == TOOL_ERROR or not isinstance(cause, dict | list):
        # The cause of a tool's own error is its structured content.
        return failure
    cleaned = _cleaned({"data": cause}, rule, trail)["data"]
    if cleaned is cause:
        return failure
    if failure.tool_code != URL_ELICITATION_REQUIRED:
        return msgspec.structs.replace(failure, cause=cleaned)
    # The evidence of such an error repeats the addresses to which the server sends a person.
    left = visits(cleaned)
    evidence = "\n".join([*left, trail.findings[-1]])
    return msgspec.structs.replace(failure, cause=cleaned, evidence=evidence, fix=VISIT if left else NO_VISIT)


def _cleaned(message: JsonObject, rule: AddressRule, trail: Trail, asked: str = "") -> JsonObject:
    cleaned, places = without_addresses(message, rule, asked)
    if places:
        trail.findings = (*trail.findings, _finding(places))
    return cleaned


def _finding(places: tuple[str, ...]) -> str:
    shown = ", ".join(place[:100] for place in places[:MOST_PLACES])
    more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
    return f"addresses that leave the private session were removed: {shown}{more}"
