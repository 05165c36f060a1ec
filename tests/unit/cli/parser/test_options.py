"""Options that several commands take."""

import pytest

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common, add_deed_json, add_filters, add_json, add_timeout, count, seconds


def test_what_is_done_on_somebodys_behalf_takes_a_config_a_principal_and_json():
    for add in (add_common, add_filters):
        options = add(Parser()).parse_args(["--config", "c", "--user", "u", "--session", "s", "--json"])
        assert (options.config, options.user, options.session, options.json) == ("c", "u", "s", True)


def test_json_before_a_deed_is_not_undone_by_the_deed():
    parser = add_json(Parser())
    parser.has_words("deed")
    add_deed_json(parser.word("do", "do it"))
    assert [parser.parse_args(words).json for words in (["--json", "do"], ["do", "--json"], ["do"])] == [
        True,
        True,
        False,
    ]


def test_numbers_are_read_within_their_bounds():
    parser = Parser()
    add_timeout(parser)
    assert (parser.parse_args(["--timeout", "0.5"]).timeout, count("0"), seconds("3")) == (0.5, 0, 3.0)
    for read, text in ((count, "-1"), (seconds, "0"), (seconds, "inf"), (seconds, "nan")):
        with pytest.raises(ValueError, match=text):
            read(text)
