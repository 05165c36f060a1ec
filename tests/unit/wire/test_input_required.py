"""A result that asks for input first: read within bounds, and gone on from exactly."""

from typing import Any

import pytest
from mcp_types import InputRequiredResult

from bascule.core.errors import ProtocolViolation
from bascule.wire.input_required import (
    INPUT_REQUIRED,
    MAX_KEY,
    MAX_QUESTIONS,
    MAX_STATE,
    InputRequired,
    Question,
    read_input_required,
)

ASKED = {"method": "elicitation/create", "params": {"message": "Which?", "requestedSchema": {"type": "object"}}}


def test_what_the_sdk_writes_is_read():
    written = InputRequiredResult.model_validate({"inputRequests": {"q": ASKED}, "requestState": "opaque"})
    wanted = read_input_required(written.model_dump(mode="json", by_alias=True, exclude_none=True))

    assert wanted.state == "opaque"
    assert wanted.questions["q"].method == "elicitation/create"
    assert wanted.questions["q"].params["message"] == "Which?"
    assert written.result_type == INPUT_REQUIRED


def test_going_on_adds_the_answers_and_the_state_and_drops_those_of_the_round_before():
    wanted = InputRequired({"q": Question("elicitation/create", {})}, "state \u2028 two")
    params: dict[str, Any] = {"name": "act", "arguments": {}, "inputResponses": {"old": 1}, "requestState": "one"}
    before = dict(params)

    assert wanted.continued(params, {"q": {"action": "accept"}}) == {
        "name": "act",
        "arguments": {},
        "inputResponses": {"q": {"action": "accept"}},
        "requestState": "state \u2028 two",
    }
    assert params == before


def test_without_questions_only_the_state_goes_back():
    wanted = read_input_required({"requestState": ""})

    assert wanted.continued({"name": "act"}, {}) == {"name": "act", "requestState": ""}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ({}, "neither inputRequests nor requestState"),
        ({"inputRequests": {}}, "neither inputRequests nor requestState"),
        ({"requestState": 7}, "requestState is not text"),
        ({"requestState": "x" * (MAX_STATE + 1)}, "requestState has 262,145 characters"),
        ({"inputRequests": [ASKED]}, "inputRequests is not an object"),
        ({"inputRequests": {"q": {}}}, "the question 'q' has no method"),
        ({"inputRequests": {"q": "what"}}, "the question 'q' has no method"),
        ({"inputRequests": {"q" * (MAX_KEY + 1): ASKED}}, "a name of 257 characters"),
        ({"inputRequests": {str(n): ASKED for n in range(MAX_QUESTIONS + 1)}}, "it has 17 questions"),
    ],
)
def test_what_goes_beyond_bounds_is_a_violation(raw: dict[str, Any], problem: str):
    with pytest.raises(ProtocolViolation, match=problem):
        read_input_required(raw)
