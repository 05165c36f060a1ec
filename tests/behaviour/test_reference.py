"""The reference pages have all that there is, and nothing that there is not."""

import re
from collections.abc import Iterator

import pytest

from handbook.cli_page import cli_page
from support.inside import Parser, build_parser

pytestmark = pytest.mark.requirement("UX-2", "UX-5")


def every_command(parser: Parser) -> Iterator[Parser]:
    for command in parser.words.values():
        yield command
        yield from every_command(command)


COMMANDS = {command.prog: command for command in every_command(build_parser())}


def sections() -> dict[str, str]:
    """What the page says of each command, by its name."""
    parts = re.split(r"^#{3,4} (bascule .*)$", cli_page(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_of_commands_has_every_command_and_no_other():
    assert [*sections()] == [*COMMANDS]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_tells_every_option_argument_example_and_exit_code_of_a_command(name: str):
    command, told = COMMANDS[name], sections()[name]
    plain = told.replace("\\|", "|")
    options = [string for action in command.settings for string in action.option_strings]
    arguments = [str(action.metavar) for action in command.settings if not action.option_strings]

    assert {*re.findall(r"(?<=[ `])(--?[a-z][a-z-]*)(?=[ `])", "\n".join(_rows(plain, "option")))} == {*options} - {
        "-h",
        "--help",
    }
    assert [row.split("`")[1] for row in _rows(plain, "argument")] == arguments
    assert all(f"\n{example[0]}" in told for example in command.examples)
    assert _rows(told, "exit code") == [f"| {code} | {words} |" for code, words in command.exits.items()]


def _rows(told: str, kind: str) -> list[str]:
    """The rows of the table of this kind, names first."""
    table = re.search(rf"^\| {kind} \| \|\n\|---\|---\|\n((?:\| .*\n)*)", told, re.MULTILINE)
    rows = table[1].splitlines() if table else []
    return rows if kind == "exit code" else [row.partition("` |")[0] + "`" for row in rows]
