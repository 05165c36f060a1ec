"""Input rounds: a server that needs input before it responds gets the answers, and the request again; 8 rounds at
most."""

import asyncio
from collections.abc import Mapping
from time import perf_counter as now
from typing import Any

import msgspec

from bascule.core.client_features import Continued, Respondent
from bascule.core.errors import InputWanted, InvalidArguments, ProtocolViolation, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.runtime.call_state import Trail
from bascule.runtime.delivery import DECLINE, deliverable, is_declined
from bascule.runtime.execution.retries import rounds_of
from bascule.runtime.prepared_call import Prepared, Rounds
from bascule.runtime.requests.operation import AnyOperation
from bascule.runtime.server_requests.handler import Answering
from bascule.runtime.server_requests.parse import check_offered, read_question
from bascule.runtime.session_context import Standing
from bascule.wire.input_required import InputRequired, Question, read_input_required

MOST_ROUNDS = 8
"""Rounds of questions before a request is given up. A form in eight parts is long enough."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a server that only wants to be asked again is. Doubled each time."""


async def next_round(
    answering: Answering, standing: Standing, operation: AnyOperation, prepared: Prepared, trail: Trail
) -> Prepared:
    """The request with which to go on. All rounds together have the time that one request has. Raises `InputWanted`
    where whoever answers does so with another request."""
    assert trail.raw is not None
    wanted = read_input_required(trail.raw)
    rounds = rounds_of(standing, prepared, trail)
    if wanted.questions:
        respondent = _elsewhere(standing, operation, wanted, trail)
        if respondent is not None:
            raise _passed_on(respondent, standing, wanted, trail)
        answers = await _answers(answering, standing, wanted, rounds, trail)
        rounds = Rounds(rounds.deadline, rounds.limit, rounds.answered + 1)
    else:
        answers = {}
        await asyncio.sleep(min(FIRST_PAUSE * 2**rounds.waited, LONGEST_PAUSE, max(rounds.deadline - now(), 0)))
        rounds = Rounds(rounds.deadline, rounds.limit, rounds.answered, min(rounds.waited + 1, 10))
    trail.mark(("answer", now()))
    if rounds.deadline <= now():
        raise _too_late(rounds, trail)
    trail.raw = None
    params = wanted.continued(prepared.params, answers)
    return msgspec.structs.replace(prepared, params=params, rounds=rounds)


def _elsewhere(standing: Standing, operation: AnyOperation, wanted: InputRequired, trail: Trail) -> Respondent | None:
    """Respondent that answers with another request. None also where each question is declined for it."""
    by = trail.respondent
    if by is None or not (by.passes_on and operation.passes_on):
        return None
    shown = (deliverable(standing, trail.lane, each)[0] for each in wanted.questions.values())
    return None if all(map(is_declined, shown)) else by


async def go_on(answering: Answering, standing: Standing, prepared: Prepared, trail: Trail) -> Prepared:
    """The request with the answers that came with it, to what its server asked before. They are checked like any."""
    assert trail.respondent is not None
    continued = trail.respondent.continued
    assert continued is not None
    if (continued.server, continued.tool) != (trail.server, trail.tool):
        raise InvalidArguments("the request goes on with what another one was answered", fix="begin it anew")
    questions = {key: _question(each) for key, each in continued.questions.items()}
    answers: JsonObject = {}
    for key, question in questions.items():
        given = continued.answers.get(key)
        if is_declined(question):
            # Its address was removed before the client got it.
            answers[key] = dict(DECLINE)
        elif given is not None:
            limit = standing.limit_of(prepared)
            lane = standing.roster.lane(standing.principal, trail.server)
            answers[key] = await answering.put(standing, trail.server, lane, question, limit, respondent=given)
    trail.mark(("answer", now()))
    params = InputRequired(questions, continued.state).continued(prepared.params, answers)
    return msgspec.structs.replace(prepared, params=params)


def _question(asked: Mapping[str, Any]) -> Question:
    return Question(asked["method"], asked["params"])


def _passed_on(respondent: Respondent, standing: Standing, wanted: InputRequired, trail: Trail) -> Exception:
    """The end of a request with what its server asks: nothing but what could be put to somebody here too."""
    _check_rounds(_rounds_before(respondent.continued), trail)
    for question in wanted.questions.values():
        check_offered(trail.server, respondent, question)
        read_question(trail.server, standing.principal, question)
    return InputWanted(
        f"{trail.server}/{trail.tool} wants answers before it goes on",
        where="call",
        fix="answer each of `inputRequests`, and send the request again with the answers and its `requestState`",
    )


def _rounds_before(continued: Continued | None) -> int:
    return 0 if continued is None else continued.rounds


def _check_rounds(answered: int, trail: Trail) -> None:
    if answered >= MOST_ROUNDS:
        raise ProtocolViolation(
            f"{trail.server}/{trail.tool} asked for input in more than {MOST_ROUNDS} rounds", where="call"
        )


async def _answers(
    answering: Answering, standing: Standing, wanted: InputRequired, rounds: Rounds, trail: Trail
) -> JsonObject:
    """One after the other: a person can be asked only one thing at a time."""
    _check_rounds(rounds.answered, trail)
    answers: JsonObject = {}
    for key, question in wanted.questions.items():
        limit = max(rounds.deadline - now(), 0)
        answers[key] = await answering.put(
            standing, trail.server, trail.lane, question, limit, respondent=trail.respondent
        )
    return answers


def _too_late(rounds: Rounds, trail: Trail) -> ReplyTimeout:
    return ReplyTimeout(
        f"{trail.server}/{trail.tool} wanted further input, and the {rounds.limit:g} s of the request were over",
        phase="call",
        timeout=rounds.limit,
        fix="if a person needs longer to answer, give the call a longer `timeout`",
    )
