"""The words of the command line."""

import shlex
from collections.abc import Iterator

import pytest

from bascule.cli.main import parse
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.parser import build_parser


def test_a_call_takes_a_tool_and_its_arguments():
    options = build_parser().parse_args(["call", "files_read", "path=/a", "limit:=3", "--timeout", "5"])
    assert (options.command, options.tool) == ("call", "files_read")
    assert options.arguments == ["path=/a", "limit:=3"]
    assert options.timeout == 5


def test_every_command_takes_a_config_a_principal_and_json():
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


def test_every_command_shows_examples(capsys: pytest.CaptureFixture[str]):
    for command in ("list", "call", "up", "logs", "sessions", "login", "logout"):
        with pytest.raises(SystemExit):
            build_parser().parse_args([command, "--help"])
        assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1", "soon"])
def test_a_limit_that_never_ends_or_never_begins_is_refused(limit: str):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["call", "x", "--timeout", limit])
    assert caught.value.code == 2


def test_a_login_waits_five_minutes_for_a_person_on_any_port():
    options = build_parser().parse_args(["login", "github"])
    assert (options.name, options.no_browser, options.timeout, options.port) == ("github", False, 300.0, 0)


def test_logs_takes_a_name_and_how_many_lines():
    options = build_parser().parse_args(["logs", "files", "-n", "0", "-f"])
    assert (options.name, options.lines, options.follow) == ("files", 0, True)
    assert build_parser().parse_args(["logs", "files"]).lines == 100


def test_an_agent_session_may_be_named_before_the_deed_or_after_it():
    words = ["sessions", "--user", "u", "--json", "end", "--session", "s", "--yes"]
    options = build_parser().parse_args(words)
    assert (options.deed, options.user, options.session, options.json) == ("end", "u", "s", True)
    assert (options.yes, options.reason, options.config) == (True, "", None)
    assert build_parser().parse_args(["sessions"]).deed is None


@pytest.mark.parametrize(
    "words",
    [
        ("raise",),
        ("raise", "--to", "public"),
        ("declassify", "--to", "secret", "--reason", "x"),
        ("declassify", "--to", "public"),
        ("end", "--to", "public"),
        ("forget",),
    ],
    ids=" ".join,
)
def test_a_deed_that_cannot_be_is_a_usage_error(words: tuple[str, ...]):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["sessions", *words])
    assert caught.value.code == 2


def test_a_level_is_named_as_in_the_config_or_as_it_is_shown():
    for word in ("secret", "SECRET"):
        assert build_parser().parse_args(["sessions", "raise", "--to", word]).to == "secret"


@pytest.mark.parametrize("lines", ["-1", "many", "1.5"])
def test_a_count_of_lines_is_none_or_more(lines: str):
    with pytest.raises(SystemExit):
        build_parser().parse_args(["logs", "files", f"--lines={lines}"])


def test_approving_takes_any_number_of_names():
    options = build_parser().parse_args(["approve", "files", "web/fetch", "--yes"])
    assert (options.names, options.all, options.yes) == (["files", "web/fetch"], False, True)
    assert build_parser().parse_args(["approve", "--all"]).names == []


def test_every_command_is_in_one_group_and_every_group_has_some():
    parser = build_parser()
    assert [*parser.groups] == ["start here", "every day", "operate", "build servers", "this command"]
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
            assert parse(build_parser(), words).command == words[0]


def test_every_summary_fits_beside_its_command():
    parser = build_parser()
    assert {name: told for name, told in parser.summaries.items() if len(told) > 64} == {}


@pytest.mark.parametrize("columns", ["60", "80"])
def test_help_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: str):
    monkeypatch.setenv("COLUMNS", columns)
    lines = build_parser().format_help().splitlines()
    assert [line for line in lines if len(line) > int(columns)] == []
