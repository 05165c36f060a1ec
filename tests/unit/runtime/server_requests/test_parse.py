"""Which questions can be put to whom. How they are read is shown where they are answered, in test_respondent.py."""

from typing import Any

import pytest

from bascule.core.client_features import Respondent
from bascule.core.errors import ProtocolViolation, Refused
from bascule.runtime.server_requests.parse import ELICIT, ROOTS, SAMPLE, answers, check_offered
from bascule.wire.input_required import Question


def nobody(_: Any) -> Any:
    raise AssertionError


ALL = Respondent(nobody, nobody, nobody, tools=True)
TOOLS: dict[str, Any] = {"messages": [], "tools": [{"name": "x"}]}


@pytest.mark.parametrize(
    ("respondent", "method", "params", "can"),
    [
        (ALL, ELICIT, {}, True),
        (ALL, ELICIT, {"mode": "url"}, True),
        (ALL, SAMPLE, TOOLS, True),
        (ALL, ROOTS, {}, True),
        (ALL, "tasks/get", {}, False),
        (Respondent(nobody, forms=False), ELICIT, {}, False),
        (Respondent(nobody, addresses=False), ELICIT, {"mode": "url"}, False),
        (Respondent(nobody, nobody), SAMPLE, TOOLS, False),
        (Respondent(nobody, nobody), SAMPLE, {"messages": [], "toolChoice": {"mode": "none"}}, False),
        (Respondent(nobody, nobody), ROOTS, {}, False),
    ],
)
def test_only_what_is_offered_is_asked(respondent: Respondent, method: str, params: dict[str, Any], can: bool):
    question = Question(method, params)
    assert answers(respondent, question) is can
    if not can:
        with pytest.raises(ProtocolViolation, match="which was never offered"):
            check_offered("work", respondent, question)


def test_where_nobody_answers_at_all_it_is_said_what_was_asked():
    with pytest.raises(Refused, match="work asks, before it goes on: Who"):
        check_offered("work", Respondent(), Question(ELICIT, {"message": "Who?"}))
