"""Kinds of requests as values."""

from bascule.catalog.pages import PROMPTS
from bascule.core.call import Inquiry
from bascule.runtime.requests.operation import AnyOperation
from bascule.runtime.requests.prompts_and_resources import Matter, completing, listing, prompting, reading
from bascule.runtime.requests.tool_call import TOOL_CALL
from bascule.runtime.session_context import Standing


async def nothing_found(_standing: Standing, _inquiry: Inquiry) -> Matter:
    raise AssertionError


OTHERS: list[AnyOperation] = [
    reading(nothing_found),
    prompting(nothing_found),
    completing(nothing_found),
    listing(PROMPTS, nothing_found),
]


def test_the_operators_setting_for_tools_speaks_of_tool_calls_alone():
    assert TOOL_CALL.of_tools
    assert not any(operation.of_tools for operation in OTHERS)


def test_what_we_ask_on_our_own_account_does_not_count():
    assert TOOL_CALL.counted
    assert [operation.counted for operation in OTHERS] == [True, True, True, False]


def test_only_what_the_protocol_lets_ask_for_input_may():
    assert TOOL_CALL.rounds
    assert [operation.rounds for operation in OTHERS] == [True, True, False, False]
