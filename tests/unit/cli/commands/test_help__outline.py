"""The command line as plain data."""

from bascule.cli.commands.help import outline
from bascule.cli.parser.parser import build_parser


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
