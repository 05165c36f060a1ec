"""For every block of every page somebody is named who holds it. One that is added, and that nothing holds, fails here."""

from collections import Counter
from typing import NamedTuple

import pytest

from behaviour import test_page_commands
from support.pages import Block, every_block
from support.tests import is_there

pytestmark = pytest.mark.requirement("UX-5")


class Held(NamedTuple):
    """How many blocks of one kind a page has, and the test that holds them all."""

    number: int
    by: str


BY_EACH = {
    "yaml": "behaviour/test_docs.py::test_a_config_that_is_shown_loads",
    "json": "behaviour/test_docs.py::test_what_is_shown_as_json_is_json_and_a_config_unless_it_says_what_else",
    "python": "behaviour/test_page_programs.py::test_every_block_of_python_is_run_or_listed_with_a_reason",
    "bash": "behaviour/test_completion.py::test_what_the_page_does_for_good_holds_in_the_next_shell",
    "zsh": "behaviour/test_completion.py::test_what_the_page_does_for_good_holds_in_the_next_shell",
    "fish": "behaviour/test_completion.py::test_what_the_page_does_for_good_holds_in_the_next_shell",
}
"""Tests that go through all blocks of a language by themselves: a new one is held at once."""

TYPED = "behaviour/test_page_commands.py::test_the_commands_of_a_block_do_what_is_said"
"""The same for commands, on its own pages."""

ANSWERS = "behaviour/test_codes_at_the_gateway.py::test_a_client_gets_what_the_page_says"
"""The same for the one answer on the page of an error."""

HELD = {
    ("README.md", "sh"): Held(2, "behaviour/test_readme.py::test_every_command_shown_works"),
    ("README.md", "console"): Held(
        1,
        "integration/test_first_five_minutes.py::test_five_commands_lead_from_a_config_to_a_governed_call_in_an_agent",
    ),
    ("first-five-minutes.md", "console"): Held(
        6,
        "integration/test_first_five_minutes.py::test_five_commands_lead_from_a_config_to_a_governed_call_in_an_agent",
    ),
    ("get-started.md", "sh"): Held(6, "behaviour/test_docs.py::test_the_first_five_minutes_are_as_the_page_says"),
    ("hands-on.md", "console"): Held(11, "behaviour/test_hands_on.py::test_the_page_is_followed_as_it_stands"),
    ("sessions.md", "console"): Held(
        3, "behaviour/test_readme.py::test_the_operators_page_shows_what_the_commands_print"
    ),
    ("identity.md", "console"): Held(
        1, "behaviour/test_readme.py::test_the_keys_shown_can_be_configured_and_the_tokens_shown_minted"
    ),
    ("typed.md", "console"): Held(1, "behaviour/test_readme.py::test_the_types_shown_can_be_used_and_written"),
    ("demo.md", "console"): Held(1, "behaviour/test_demo.py::test_its_page_shows_what_it_prints"),
    ("bridge-claude-sdk.md", "console"): Held(
        1, "behaviour/test_bridge_claude_sdk.py::test_the_example_is_what_the_page_shows_and_does_what_it_says"
    ),
    ("bridge-langchain.md", "console"): Held(
        1, "behaviour/test_bridge_langchain.py::test_the_example_is_the_one_on_the_page_and_prints_what_that_shows"
    ),
    ("bridge-openai-agents.md", "console"): Held(
        1, "behaviour/test_bridge_openai_agents.py::test_the_example_is_the_one_on_the_page_and_prints_what_that_shows"
    ),
    ("bridge-plain.md", "console"): Held(
        1, "behaviour/test_plain_gateway.py::test_the_example_runs_and_prints_what_its_page_says"
    ),
    ("bridge-pydantic-ai.md", "console"): Held(
        1, "behaviour/test_bridge_pydantic_ai.py::test_the_example_is_what_the_page_shows_and_does_what_it_says"
    ),
    ("bridge-weakincentives.md", "console"): Held(
        1, "behaviour/weakincentives/test_example.py::test_the_example_prints_what_the_page_shows"
    ),
    ("doctor.md", "json reply"): Held(
        1, "behaviour/test_json_shapes.py::test_what_a_page_shows_of_the_doctor_is_of_its_shape"
    ),
    ("egress.md", "json reply"): Held(
        1, "hostile/test_egress.py::test_a_refusal_says_who_was_asked_for_and_why_and_what_an_operator_can_do"
    ),
    ("login.md", "json output"): Held(
        1, "behaviour/test_login.py::test_the_headers_that_a_program_prints_as_shown_are_sent"
    ),
}
"""What a test of its own holds. Whoever adds a block has that test hold it too, and counts it here."""


def kind(block: Block) -> tuple[str, str]:
    told = block.marks.get("of", "") if block.language == "json" else ""
    # What a page says is a file of the reader's is a config.
    return block.page, block.language if not told or "." in told else f"{block.language} {told}"


def by_all(page: str, what: str) -> str:
    """The test that holds all blocks of this kind by itself, if there is one."""
    if what == "sh" and page in test_page_commands.PAGES:
        return TYPED
    if what == "json answer" and page.startswith("errors/"):
        return ANSWERS
    return BY_EACH.get(what, "")


def test_every_block_of_every_page_is_held():
    there = Counter(kind(block) for block in every_block() if block.language != "text")
    own = {key: number for key, number in there.items() if not by_all(*key)}

    assert len(there) > 70, "the blocks are no longer found"
    assert own == {key: held.number for key, held in HELD.items()}, "a block that nothing holds, or one that has gone"


def test_every_test_that_holds_a_block_is_there():
    named = {TYPED, ANSWERS, *BY_EACH.values(), *(held.by for held in HELD.values())}

    assert [test for test in sorted(named) if not is_there(test)] == []
