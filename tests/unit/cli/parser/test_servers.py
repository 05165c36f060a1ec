"""The words of the commands for servers of one's own."""

from bascule.cli.parser.parser import build_parser
from bascule.config.model.kit_server import HOST
from bascule.identity.jwt.minting import LIFE


def test_a_new_server_has_a_name_and_perhaps_a_folder():
    options = build_parser().parse_args(["new", "server", "desk"])
    assert (options.what, options.name, options.folder) == ("server", "desk", None)


def test_a_server_is_run_at_a_socket_or_an_address():
    options = build_parser().parse_args(["run", "desk", "--socket", "/s"])
    assert (options.name, options.socket, options.host, options.url) == ("desk", "/s", None, None)


def test_a_token_is_for_a_server_here_or_elsewhere():
    options = build_parser().parse_args(["token", "--audience", "http://x", "--life", "60"])
    assert (options.name, options.audience, options.life, options.key) == (None, "http://x", 60.0, False)


def test_the_help_names_the_defaults_that_the_commands_use():
    """The parser loads neither the config nor the identity room, so it cannot take them from there."""
    words = build_parser().words

    assert f"default: {HOST}\n" in words["run"].format_help()
    assert f"default, and most: {LIFE:g}\n" in words["token"].format_help()
