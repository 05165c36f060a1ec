"""Command table, and the parser that is made from it."""

import ast
import inspect
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule import cli
from bascule.cli.main import parse
from bascule.cli.parser import options as shared_options
from bascule.cli.parser.command_table import COMMANDS, GROUPS, build_parser, module_of
from bascule.cli.parser.grammar import Parser

CLI = Path(cli.__file__).parent


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_module_with_its_options_and_its_code(name: str):
    module = module_of(name)
    assert [*inspect.signature(module.add_options).parameters] == ["command"]
    assert [*inspect.signature(module.run).parameters] == ["options"]


def test_the_parser_itself_adds_options_of_several_commands_only():
    """Those of one command are added by its module."""
    inside = [path for path in (CLI / "parser").glob("*.py") if "add_argument(" in path.read_text(encoding="utf-8")]
    assert sorted(path.name for path in inside) == ["command_table.py", "options.py"]
    table = (CLI / "parser/command_table.py").read_text(encoding="utf-8")
    assert table.count("add_argument(") == table.count('parser.add_argument("--version"') == 1

    files = [path for path in CLI.rglob("*.py") if path.parent.name != "parser"]
    takers = Counter(name for path in files for name in names_in(path))
    shared = [name for name in vars(shared_options) if name.startswith("add_")]
    assert {name: takers[name] for name in shared if takers[name] < 2} == {}


def names_in(path: Path) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)}


@pytest.mark.parametrize(
    "argv",
    [["call", "list"], ["--version", "call"], ["call", "--wrong"]],
    ids=" ".join,
)
def test_only_the_command_that_is_named_has_its_options(argv: list[str]):
    words = build_parser(argv).words
    assert [name for name in words if len(words[name].settings) > 1] == ["call"]


def test_where_no_command_is_named_none_has_its_options_but_all_have_their_summaries():
    parser, whole = build_parser([]), build_parser()
    assert [name for name, word in parser.words.items() if len(word.settings) > 1] == []
    assert parser.format_help() == whole.format_help()


SLOW = {"bascule.config", "bascule.runtime.runtime", "bascule.gateway", "bascule.identity", "mcp", "aiohttp", "rich"}
"""Each takes 50 ms or more to import."""


def test_the_options_of_all_commands_load_nothing_slow():
    """Help, completion and a wrong option need no more than them."""
    code = "import sys; from bascule.cli.parser.command_table import build_parser; build_parser(); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert SLOW & {*ended.stdout.split()} == set()


def test_most_commands_take_a_config_a_principal_and_json():
    for command in (
        ["list"],
        ["call", "x"],
        ["up"],
        ["logs", "x"],
        ["sessions"],
        ["sessions", "show"],
        ["login", "x"],
        ["logout", "x"],
    ):
        options = build_parser().parse_args([*command, "--config", "c", "--user", "u", "--session", "s", "--json"])
        assert (options.config, options.user, options.session, options.json) == ("c", "u", "s", True)


def test_the_help_of_a_command_shows_examples(capsys: pytest.CaptureFixture[str]):
    for command in ("list", "call", "up", "logs", "sessions", "login", "logout"):
        with pytest.raises(SystemExit):
            build_parser().parse_args([command, "--help"])
        assert "examples:" in capsys.readouterr().out


def test_every_command_is_in_one_group_and_every_group_has_some():
    parser = build_parser()
    assert [*parser.groups] == ["start here", "every day", "operate", "build servers", "this command"]
    assert len(COMMANDS) == sum(map(len, GROUPS.values()))
    assert sorted(name for names in parser.groups.values() for name in names) == sorted(parser.words)
    assert all(parser.groups.values())


def every_word(parser: Parser) -> Iterator[Parser]:
    for word in parser.words.values():
        yield word
        yield from every_word(word)


EVERY = pytest.mark.parametrize("command", [*every_word(build_parser())], ids=lambda command: command.prog)


@EVERY
def test_every_command_and_deed_is_told_in_one_voice(command: Parser):
    """What it does, as an order; examples that begin with it; a word for every option."""
    said = command.description or ""
    assert said[0].isupper()
    assert said.endswith(".")
    first = said.split()[0].lower()
    assert not first.endswith(("s", "ing")), "an order, not a description"
    assert any(f"{command.prog} " in f"{example[0]} " for example in command.examples)
    assert [setting.dest for setting in command.settings if not setting.help] == []


@EVERY
def test_every_example_can_be_read_by_the_parser(command: Parser):
    for line, *_ in command.examples:
        program, *words = shlex.split(line.partition("|")[0].partition(">")[0])
        if program == "bascule":
            assert parse(build_parser(words), words).command == words[0]


def test_every_summary_fits_beside_its_command():
    assert {name: command.summary for name, command in COMMANDS.items() if len(command.summary) > 64} == {}


@pytest.mark.parametrize("columns", ["60", "80"])
def test_help_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str):
    monkeypatch.setenv("COLUMNS", columns)
    lines = build_parser().format_help().splitlines()
    assert [line for line in lines if len(line) > int(columns)] == []
