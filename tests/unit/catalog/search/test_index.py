"""Finding tools by words."""

import random
from dataclasses import replace
from typing import Any

import pytest

from bascule.catalog.search.index import SearchIndex, is_slip, search
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus


def a_spec(name: str, description: str = "", *arguments: str, **parts: Any) -> ToolSpec:
    server, _, tool = name.partition("_")
    schema = {"type": "object", "properties": {argument: {"type": "string"} for argument in arguments}}
    return ToolSpec(name, ToolKey(server, tool), "sha256:0", description=description, input_schema=schema, **parts)


SHELF = (
    a_spec("github_create_issue", "Create a new issue in a GitHub repository.", "owner", "repo", "title", "body"),
    a_spec("github_list_issues", "List issues in a GitHub repository with filtering options.", "owner", "repo"),
    a_spec("github_add_issue_comment", "Add a comment to an existing issue.", "issue_number", "body"),
    a_spec("github_create_pull_request", "Create a new pull request.", "owner", "repo", "head", "base"),
    a_spec("github_search_repositories", "Search for GitHub repositories.", "query"),
    a_spec("files_read_text_file", "Read the complete contents of a file from the file system as text.", "path"),
    a_spec("files_write_file", "Create a new file or completely overwrite an existing one.", "path", "content"),
    a_spec("files_list_directory", "Get a detailed listing of all files and directories.", "path"),
    a_spec("files_move_file", "Move or rename files and directories.", "source", "destination"),
    a_spec("slack_postMessage", "Post a message to a channel.", "channel_id", "text"),
    a_spec("maps_geocode", "Convert an address into coordinates.", "address"),
    a_spec("notes_delete", "Deletes a note for good.", "number"),
)


def names(words: str, limit: int = 10, tools: tuple[ToolSpec, ...] = SHELF) -> list[str]:
    return [tool.name for tool in search(tools, words, limit)]


@pytest.mark.parametrize(
    ("words", "best"),
    [
        ("create issue", "github_create_issue"),
        ("open a new issue on github please", "github_create_issue"),
        ("comment on an issue", "github_add_issue_comment"),
        ("read a file", "files_read_text_file"),
        ("rename", "files_move_file"),
        ("folder contents", "files_list_directory"),
        ("post message", "slack_postMessage"),
        ("postmessage", "slack_postMessage"),
        ("POST_MESSAGE", "slack_postMessage"),
        ("readtextfile", "files_read_text_file"),
        ("pull requests", "github_create_pull_request"),
        ("coordinates of an address", "maps_geocode"),
        ("geocoding", "maps_geocode"),
        ("remove note", "notes_delete"),
        ("repository search", "github_search_repositories"),
        ("channel_id", "slack_postMessage"),
        ("maps", "maps_geocode"),
    ],
)
def test_what_a_person_would_expect_comes_first(words: str, best: str):
    assert names(words)[0] == best


@pytest.mark.parametrize(
    ("words", "best"),
    [
        ("isue", "github_create_issue"),
        ("mesage", "slack_postMessage"),
        ("geocdoe", "maps_geocode"),
        ("commemt", "github_add_issue_comment"),
        ("direcctory", "files_list_directory"),
        ("coord", "maps_geocode"),
        ("repo", "github_search_repositories"),
    ],
)
def test_slips_and_beginnings_of_words_are_understood(words: str, best: str):
    assert best in names(words, 3)


def test_the_tool_that_is_called_just_so_comes_first():
    many = tuple(a_spec(f"work_list_{at}", "list list list list") for at in range(50))
    tools = (*many, a_spec("other_list", "Nothing of the kind."), a_spec("list", "list"))

    assert names("list", 2, tools) == ["list", "other_list"]
    assert names("other list", 1, tools) == ["other_list"]
    assert names("Other-List", 1, tools) == ["other_list"]


def test_more_of_what_was_asked_counts_for_more_than_one_word_of_it_often():
    tools = (a_spec("a_x", "wind wind wind wind wind wind"), a_spec("b_x", "The wind and the weather."))

    assert names("wind weather", 1, tools) == ["b_x"]


def test_what_has_nothing_of_it_is_not_found():
    assert names("zebra") == []
    assert names("") == []
    assert names("!?", 3) == []


def test_words_that_tell_nothing_are_passed_over_unless_there_is_nothing_else():
    tools = (a_spec("work_how_to", "Explains."), a_spec("work_other", "How to do the other thing for you."))

    assert names("how to", 1, tools) == ["work_how_to"]
    assert names("the other", 1, tools) == ["work_other"]


def test_a_word_of_four_letters_is_not_taken_for_another():
    assert names("lost", tools=(a_spec("work_list"),)) == []
    assert names("lsit", tools=(a_spec("work_list"),)) == ["work_list"]


def test_no_more_are_found_than_wanted_and_it_is_known_how_many_there_are():
    found = SearchIndex(SHELF).find("file", 2)

    assert len(found.tools) == 2
    assert found.total > 2
    assert SearchIndex(SHELF).find("file", 0).tools == ()


def test_the_order_is_the_same_however_the_tools_come():
    shuffled = [*SHELF]
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        for words in ("file", "create", "issue repo", "lsit"):
            assert names(words, tools=tuple(shuffled)) == names(words)


@pytest.mark.parametrize("status", [status for status in ToolStatus if status is not ToolStatus.EXPOSED])
def test_what_agents_may_not_see_is_not_found_and_changes_nothing(status: ToolStatus):
    kept_back = [replace(a_spec(f"secret_issue_{at}", "issue issue"), status=status) for at in range(20)]
    with_them, without = SearchIndex((*kept_back, *SHELF)), SearchIndex(SHELF)

    for words in ("issue", "secret", "create issue", "secret_issue_3", "secrt"):
        assert with_them.find(words, 50) == without.find(words, 50)
        assert sorted(with_them._scores(words).values()) == sorted(without._scores(words).values())


def test_a_question_without_end_is_answered():
    assert names("file " * 10_000)[0].startswith("files_")
    assert names("x" * 100_000) == []


@pytest.mark.parametrize("other", ["isues", "isssues", "issuse", "issuez", "sissues", "issue"])
def test_one_letter_amiss_is_a_slip(other: str):
    assert is_slip("issues", other)
    assert is_slip(other, "issues")


@pytest.mark.parametrize("other", ["isseus7", "sisues7", "usises", "is", "tissuez", "issabs"])
def test_more_than_that_is_another_word(other: str):
    assert not is_slip("issues", other)
