"""The words of the commands that are about the command itself."""

from bascule.cli.parser.parser import build_parser


def test_help_takes_any_command():
    assert build_parser().parse_args(["help", "audit", "verify"]).words == ["audit", "verify"]
    assert build_parser().parse_args(["help"]).words == []
