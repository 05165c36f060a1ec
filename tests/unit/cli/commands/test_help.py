"""`bascule help`."""

import json

import pytest

from bascule.cli.commands.help import show
from bascule.cli.parser.grammar import WrongWords
from bascule.cli.parser.parser import build_parser


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    parser = build_parser()
    assert show(parser, parser.parse_args(["help", *words])) == 0
    return capsys.readouterr().out


def test_the_help_of_all_or_of_one_command_or_sub_command_is_shown(capsys: pytest.CaptureFixture[str]):
    parser = build_parser()
    assert shown(capsys) == parser.format_help()
    assert shown(capsys, "call") == parser.words["call"].format_help()
    assert shown(capsys, "audit", "verify") == parser.words["audit"].words["verify"].format_help()


def test_as_json_it_is_data(capsys: pytest.CaptureFixture[str]):
    assert json.loads(shown(capsys, "audit", "--json"))["name"] == "bascule audit"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cal"], "there is no command 'cal'"),
        (["audit", "shw"], "there is no sub-command 'shw'"),
        (["call", "it"], "bascule call has no sub-commands, so none is 'it'"),
    ],
)
def test_what_there_is_not_has_no_help(words: list[str], message: str):
    parser = build_parser()
    with pytest.raises(WrongWords) as caught:
        show(parser, parser.parse_args(["help", *words]))
    assert caught.value.message == message
