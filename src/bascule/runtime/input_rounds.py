"""A request whose server first wants answers: each round answers what was asked and makes the request that goes on."""

import asyncio
from time import perf_counter as now

import msgspec

from bascule.core.errors import ProtocolViolation, ReplyTimeout
from bascule.core.jsonvalue import JsonObject
from bascule.runtime.answering import Answering
from bascule.runtime.prepared import Prepared, Rounds
from bascule.runtime.repeating import rounds_of
from bascule.runtime.standing import Standing
from bascule.runtime.trail import Trail
from bascule.wire.input_required import InputRequired, read_input_required

MOST_ROUNDS = 8
"""Rounds of questions before a request is given up. A form in eight parts is long enough."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a server that only wants to be asked again is. Doubled each time."""


async def next_round(answering: Answering, standing: Standing, prepared: Prepared, trail: Trail) -> Prepared:
    """The request with which to go on. All rounds together have the time that one request has."""
    assert trail.raw is not None
    wanted = read_input_required(trail.raw)
    rounds = rounds_of(standing, prepared, trail)
    if wanted.questions:
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


async def _answers(
    answering: Answering, standing: Standing, wanted: InputRequired, rounds: Rounds, trail: Trail
) -> JsonObject:
    """One after the other: a person can be asked only one thing at a time."""
    if rounds.answered >= MOST_ROUNDS:
        raise ProtocolViolation(
            f"{trail.server}/{trail.tool} asked for input in more than {MOST_ROUNDS} rounds", where="call"
        )
    answers: JsonObject = {}
    for key, question in wanted.questions.items():
        limit = max(rounds.deadline - now(), 0)
        answers[key] = await answering.put(standing, trail.server, trail.lane, question, limit)
    return answers


def _too_late(rounds: Rounds, trail: Trail) -> ReplyTimeout:
    return ReplyTimeout(
        f"{trail.server}/{trail.tool} wanted further input, and the {rounds.limit:g} s of the request were over",
        phase="call",
        timeout=rounds.limit,
        fix="if a person needs longer to answer, give the call a longer `timeout`",
    )
