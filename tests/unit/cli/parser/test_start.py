"""The words of the commands one meets first."""

from bascule.cli.parser.parser import build_parser


def test_a_server_to_add_takes_variables_headers_and_a_source():
    options = build_parser().parse_args(["add", "x.json", "--from", "npm", "--env", "A", "--env", "B=1", "--dry-run"])
    assert (options.what, options.rest, options.source, options.env) == ("x.json", [], "npm", ["A", "B=1"])
    assert (options.dry_run, options.replace, options.config) == (True, False, None)


def test_a_listing_may_show_more_than_tools():
    options = build_parser().parse_args(["list", "--resources", "--prompts", "--tokens"])
    assert (options.resources, options.prompts, options.tokens) == (True, True, True)


def test_arguments_may_be_one_object():
    options = build_parser().parse_args(["call", "x", "--arguments", "{}"])
    assert (options.object, options.arguments) == ("{}", [])


def test_the_doctor_may_reap():
    assert build_parser().parse_args(["doctor", "--reap"]).reap
