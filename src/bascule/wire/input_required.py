"""`input_required` results: the server's questions and state, and the parameters of the next round."""

from collections.abc import Mapping

import msgspec

from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import JsonObject, as_object, is_object

INPUT_REQUIRED = "input_required"

MAX_QUESTIONS = 16
"""Questions in one reply. Each is put to a person or a model; a server that has more can ask in rounds."""

MAX_STATE = 256 * 1024
"""Characters of state that we carry back for a server. It travels with every round."""

MAX_KEY = 256
"""Characters of the name of a question. It is repeated in the answer."""


class Question(msgspec.Struct, frozen=True):
    """One thing the server wants to know, told as the request it would have been in the old era."""

    method: str
    params: JsonObject


class InputRequired(msgspec.Struct, frozen=True):
    """What has to happen before the request can be sent again."""

    questions: Mapping[str, Question]
    state: str | None
    """The server's own, and nobody else's to read."""

    def continued(self, params: JsonObject, answers: JsonObject) -> JsonObject:
        """The parameters of the next round. Nothing of an earlier round but the request itself is in them."""
        again = without_round(params)
        if answers:
            again["inputResponses"] = answers
        if self.state is not None:
            again["requestState"] = self.state
        return again


_ROUND = frozenset({"inputResponses", "requestState"})


def without_round(params: JsonObject) -> JsonObject:
    """The parameters of the request itself."""
    return {key: value for key, value in params.items() if key not in _ROUND}


def read_input_required(raw: JsonObject) -> InputRequired:
    """What the server wants, or `ProtocolViolation` where it may not want it so."""
    state, asked = raw.get("requestState"), raw.get("inputRequests")
    if state is not None and not isinstance(state, str):
        raise _malformed("requestState is not text")
    if state is not None and len(state) > MAX_STATE:
        raise _malformed(f"requestState has {len(state):,} characters; we carry {MAX_STATE:,}")
    if asked is not None and not is_object(asked):
        raise _malformed("inputRequests is not an object")
    if not asked and state is None:
        raise _malformed("it has neither inputRequests nor requestState")
    if asked and len(asked) > MAX_QUESTIONS:
        raise _malformed(f"it has {len(asked):,} questions; we answer {MAX_QUESTIONS} at a time")
    return InputRequired({key: _question(key, value) for key, value in (asked or {}).items()}, state)


def _question(key: str, value: object) -> Question:
    if len(key) > MAX_KEY:
        raise _malformed(f"a question has a name of {len(key):,} characters")
    fields = as_object(value)
    method = fields.get("method")
    if not isinstance(method, str):
        raise _malformed(f"the question {key[:40]!r} has no method")
    return Question(method, as_object(fields.get("params")))


def _malformed(problem: str) -> ProtocolViolation:
    return ProtocolViolation(
        f"the server asks for input in a way we do not take: {problem}",
        where="call",
        evidence=f"resultType: {INPUT_REQUIRED}",
    )
