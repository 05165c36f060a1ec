"""The words of the commands for every day."""

from bascule.cli.parser.parser import build_parser


def test_a_resource_may_be_asked_of_one_server():
    options = build_parser().parse_args(["read", "a://b", "--server", "files", "--timeout", "2"])
    assert (options.uri, options.server, options.timeout) == ("a://b", "files", 2.0)


def test_a_prompt_takes_texts():
    assert build_parser().parse_args(["prompt", "sum", "style=short"]).arguments == ["style=short"]


def test_stubs_are_of_some_servers_or_of_all():
    options = build_parser().parse_args(["stubs", "--server", "a", "--server", "b", "--out", "f", "--check"])
    assert (options.server, options.out, options.check) == (["a", "b"], "f", True)
    assert build_parser().parse_args(["stubs"]).server == []
