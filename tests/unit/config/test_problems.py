"""One error for all that is wrong with a file."""

import traceback

import pytest

from bascule.config.problems import Problems, config_error, did_you_mean, dotted
from bascule.core.errors import ConfigError


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("mcp_servers", "files", "args", 2), "mcp_servers.files.args[2]"),
        (("mcpServers", "Figma MCP", "env"), 'mcpServers."Figma MCP".env'),
        (("x-bascule", "a.b"), 'x-bascule."a.b"'),
        (("a\nb",), '"a\\nb"'),
    ],
)
def test_a_path_is_written_as_people_write_it(path: tuple[str | int, ...], text: str):
    assert dotted(path) == text


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("comand", "command"),
        ("inheritEnv", "inherit_env"),
        ("inherit-env", "inherit_env"),
        ("Command", "command"),
        ("zzz", ""),
    ],
)
def test_a_near_word_is_suggested(word: str, hint: str):
    told = did_you_mean(word, ["command", "inherit_env", "url"])

    assert told == (f'; did you mean "{hint}"?' if hint else "")


def test_a_problem_names_file_line_and_path():
    problems = Problems("bascule.yaml", {("a",): 3, ("a", "b"): 4})
    problems.add(("a", "b"), "is wrong")

    assert [problem.told for problem in problems.found] == ["bascule.yaml:4: a.b: is wrong"]


def test_a_value_without_a_line_has_the_line_around_it():
    problems = Problems("f", {("a",): 3})

    assert problems.place(("a", "b", 0)) == "f:3"
    assert problems.place(("z",)) == "f"


def test_a_problem_of_the_whole_file_has_no_path():
    problems = Problems("f")

    assert problems.told((), "is wrong") == "f: is wrong"


def test_all_problems_come_in_one_error_in_the_order_of_the_file():
    problems = Problems("f", {("a",): 9, ("b",): 2})
    problems.add(("a",), "first found")
    problems.add(("b",), "second found")

    with pytest.raises(ConfigError) as caught:
        problems.raise_if_any()
    assert caught.value.problems == ("f:2: b: second found", "f:9: a: first found")
    assert str(caught.value) == "f has 2 problems"


def test_no_problem_is_no_error():
    Problems("f").raise_if_any()


def test_what_is_inside_a_path_touches_it():
    problems = Problems("f")
    problems.add(("a", "b", 0), "is wrong")

    assert problems.touch(("a", "b"))
    assert not problems.touch(("a", "c"))
    assert not problems.touch(("a", "b", 1))


def test_a_traceback_shows_every_problem():
    error = config_error("f", ("f:1: a", "f:2: b"))

    shown = "".join(traceback.format_exception(error))
    assert "f:1: a" in shown
    assert "f:2: b" in shown
    assert str(config_error("f", ("a",))) == "f has 1 problem"


def test_giving_up_names_the_line_and_the_fix():
    with pytest.raises(ConfigError, match="f:7: not YAML") as caught:
        Problems("f").unreadable("not YAML", line=7, fix="mend it")
    assert caught.value.fix == "mend it"
    assert caught.value.problems == ("f:7: not YAML",)
