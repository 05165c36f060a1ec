"""What travels with a request that is no tool call."""

from typing import Any

import pytest

from bascule.catalog.pages import RESOURCES
from bascule.core.call import Inquiry
from bascule.core.errors import InvalidArguments
from bascule.core.prompt import PromptArgument, PromptSpec
from bascule.core.tool import Subject, ToolKey
from bascule.runtime.requests.prompts_and_resources import Matter, completing, listing, prompting, reading
from bascule.runtime.session_context import Standing

KEY = ToolKey("notes", "greet")
GREET = PromptSpec("notes_greet", KEY, "d", arguments=(PromptArgument("who", required=True), PromptArgument("how")))


async def find(_standing: Standing, _inquiry: Inquiry) -> Matter:
    raise AssertionError


def prompted(**arguments: Any) -> dict[str, Any]:
    matter = Matter(Subject(KEY, "notes_greet"), GREET)
    return prompting(find).prepare(matter, Inquiry("notes_greet", arguments)).params


def test_a_uri_travels_as_it_is():
    uri = "javascript:alert(1)//../\u202e"
    prepared = reading(find).prepare(Matter(Subject(ToolKey("notes", uri), uri)), Inquiry(uri, {}, 3.0))

    assert (prepared.method, prepared.server, prepared.params) == ("resources/read", "notes", {"uri": uri})
    assert prepared.timeout == 3.0


def test_a_prompt_travels_under_the_servers_own_name_with_what_was_given():
    assert prompted(who="Ada") == {"name": "greet", "arguments": {"who": "Ada"}}


def test_a_prompt_without_arguments_has_none():
    matter = Matter(Subject(KEY, "notes_greet"), PromptSpec("notes_greet", KEY, "d"))
    assert prompting(find).prepare(matter, Inquiry("notes_greet", {})).params == {"name": "greet"}


def test_a_required_argument_that_is_missing_is_named_with_all_there_are():
    with pytest.raises(InvalidArguments, match=r"missing argument 'who' — greet\(who, how\?\)"):
        prompted(how="warmly")


def test_an_argument_that_is_no_text_is_named():
    with pytest.raises(InvalidArguments, match="'how' must be text"):
        prompted(who="Ada", how=7)


def test_an_argument_that_is_not_listed_is_named_with_the_nearest_and_all_there_are():
    expected = r"there is no argument 'whom'; did you mean 'who'\? — greet\(who, how\?\)"
    with pytest.raises(InvalidArguments, match=expected):
        prompted(whom="Ada")
    with pytest.raises(InvalidArguments, match=r"there is no argument 'zzzz' — greet"):
        prompted(who="Ada", zzzz="?")


def test_what_a_server_lists_no_arguments_for_may_be_given_some():
    matter = Matter(Subject(KEY, "notes_greet"), PromptSpec("notes_greet", KEY, "d"))
    given = prompting(find).prepare(matter, Inquiry("notes_greet", {"who": "Ada"})).params
    assert given == {"name": "greet", "arguments": {"who": "Ada"}}


def completed(**given: Any) -> dict[str, Any]:
    matter = Matter(Subject(KEY, "notes_greet"), ref={"type": "ref/prompt", "name": "greet"})
    arguments = {"argument": "who", "value": "A", "context": {}, **given}
    return completing(find).prepare(matter, Inquiry("notes_greet", arguments)).params


def test_a_completion_names_its_reference_and_has_a_context_only_if_there_is_one():
    assert completed() == {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}}
    assert completed(context={"how": "warmly"})["context"] == {"arguments": {"how": "warmly"}}


@pytest.mark.parametrize("given", [{"value": 7}, {"argument": None}, {"context": {"how": 7}}])
def test_a_completion_is_about_texts(given: dict[str, Any]):
    with pytest.raises(InvalidArguments, match="all texts"):
        completed(**given)


def test_a_page_is_asked_for_in_the_time_of_a_listing():
    matter = Matter(Subject(ToolKey("notes", "resources"), "notes"))
    prepared = listing(RESOURCES, find).prepare(matter, Inquiry("notes", {"cursor": "2"}, 1.5))

    assert (prepared.method, prepared.params) == ("resources/list", {"cursor": "2"})
    assert (prepared.timeout, prepared.phase) == (1.5, "list")
