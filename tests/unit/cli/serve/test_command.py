"""`bascule serve`: options, event loop and log output."""

from bascule.cli.parser.command_table import build_parser
from bascule.cli.serve.command import loop_factory, words


def test_serving_takes_where_and_how():
    options = build_parser().parse_args(["serve", "--dev", "--port", "0", "--log", "json"])
    assert (options.dev, options.port, options.log, options.stdio, options.host) == (True, 0, "json", False, None)


def test_one_client_over_stdio_gets_the_usual_event_loop_and_nothing_in_between():
    options = build_parser().parse_args(["serve", "--stdio"])
    assert loop_factory(options) is None
    with words(options):
        assert not hasattr(options, "masking")


def test_over_http_secrets_are_masked_from_the_first_line_on():
    options = build_parser().parse_args(["serve", "--log", "text"])
    with words(options):
        assert options.masking("a secret that is not known yet") == "a secret that is not known yet"
