"""Completion of a command line."""

import pytest

from bascule.cli.completion.complete import answers, joined, tell
from bascule.cli.parser.command_table import build_parser


def offered(*words: str) -> list[str]:
    return [word for word, _ in answers(build_parser(), words)]


def test_what_the_parser_knows_is_offered():
    assert offered("audit", "") == ["show", "export", "verify"]
    assert offered("sessions", "--json", "e") == ["end"]
    assert offered("audit", "export", "--format", "") == ["jsonl", "csv"]
    assert offered("audit", "export", "--format=c") == ["--format=csv"]
    assert offered("call", "x", "--time") == ["--timeout"]


def test_an_option_that_was_given_is_offered_again_only_where_it_may_be():
    assert offered("list", "--json", "--js") == []
    assert offered("add", "x", "--env", "A", "--en") == ["--env"]


def test_the_value_of_an_option_is_no_command():
    assert offered("list", "--user", "audit", "--tok") == ["--tokens"]


def test_files_and_folders_are_left_to_the_shell():
    assert offered("list", "--config", "x") == [":files"]
    assert offered("new", "server", "x", "--folder", "") == [":folders"]
    assert offered("add", "x", "--", "ls", "--l") == [":files"]


def test_words_that_a_shell_has_taken_apart_are_put_together():
    assert joined(["list", "--config", "=", "x"]) == ["list", "--config=x"]
    assert joined(["call", "x", "a", "=", "b"]) == ["call", "x", "a", "=", "b"]
    assert offered("audit", "export", "--format", "=", "c") == ["csv"]
    assert offered("list", "--json", "=", "c") == []


def test_a_shell_is_told_line_by_line(capsys: pytest.CaptureFixture[str]):
    assert tell(["zsh", "help", "logo"]) == 0
    assert tell(["bash", "logo"]) == 0
    assert capsys.readouterr().out == "logout\tforget the login at a remote server\nlogout\n"


def test_the_options_of_the_command_on_the_line_are_told(capsys: pytest.CaptureFixture[str]):
    assert tell(["bash", "logs", "x", "--fol"]) == 0
    assert tell(["bash", "help", "audit", "v"]) == 0
    assert capsys.readouterr().out == "--follow\nverify\n"
