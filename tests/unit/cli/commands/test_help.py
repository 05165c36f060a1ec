"""`bascule help`, and the outline of the command line."""

import json

import pytest

from bascule.cli.commands.help import outline, run
from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import WrongWords


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(build_parser().parse_args(["help", *words])) == 0
    return capsys.readouterr().out


def test_the_help_of_all_or_of_one_command_or_sub_command_is_shown(capsys: pytest.CaptureFixture[str]):
    parser = build_parser()
    assert shown(capsys) == parser.format_help()
    assert shown(capsys, "call") == parser.words["call"].format_help()
    assert shown(capsys, "audit", "verify") == parser.words["audit"].words["verify"].format_help()


def test_as_json_it_is_data(capsys: pytest.CaptureFixture[str]):
    assert json.loads(shown(capsys, "audit", "--json"))["name"] == "bascule audit"
    assert json.loads(shown(capsys, "--json")) == outline(build_parser())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cal"], "there is no command 'cal'"),
        (["audit", "shw"], "there is no sub-command 'shw'"),
        (["call", "it"], "bascule call has no sub-commands, so none is 'it'"),
    ],
)
def test_what_there_is_not_has_no_help(words: list[str], message: str):
    with pytest.raises(WrongWords) as caught:
        run(build_parser().parse_args(["help", *words]))
    assert caught.value.message == message


def test_every_command_is_there_with_its_summary_options_and_examples():
    whole = outline(build_parser())
    commands = {command["name"]: command for command in whole["commands"]}
    call, audit = commands["bascule call"], commands["bascule audit"]

    assert next(iter(whole["groups"])) == "start here"
    assert sorted(name for names in whole["groups"].values() for name in names) == sorted(
        name.removeprefix("bascule ") for name in commands
    )
    assert call["summary"].startswith("call one tool")
    assert call["examples"][0] == {"command": "bascule call everything_echo message=hi", "for": ""}
    assert [argument["names"] for argument in call["arguments"]] == [["TOOL"], ["KEY=VALUE"]]
    assert [argument["many"] for argument in call["arguments"]] == [False, True]
    assert [deed["name"] for deed in audit["commands"]] == [
        "bascule audit show",
        "bascule audit export",
        "bascule audit verify",
    ]


def test_an_option_tells_its_value_and_what_it_may_be():
    (export,) = [each for each in outline(build_parser().words["audit"])["commands"] if each["name"].endswith("export")]
    options = {option["names"][-1]: option for option in export["options"]}

    assert (options["--format"]["value"], options["--format"]["choices"]) == ("jsonl|csv", ["jsonl", "csv"])
    assert (options["--json"]["value"], options["--json"]["choices"]) == (None, None)
    assert options["--since"]["value"] == "TIME"


def test_help_takes_any_command():
    assert build_parser().parse_args(["help", "audit", "verify"]).words == ["audit", "verify"]
    assert build_parser().parse_args(["help"]).words == []
