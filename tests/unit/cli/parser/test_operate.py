"""The words of the commands for whoever operates a runtime for others."""

from bascule.cli.parser.parser import build_parser


def test_serving_takes_where_and_how():
    options = build_parser().parse_args(["serve", "--dev", "--port", "0", "--log", "json"])
    assert (options.dev, options.port, options.log, options.stdio, options.host) == (True, 0, "json", False, None)


def test_the_log_is_exported_as_lines_to_stdout_unless_it_is_said_otherwise():
    options = build_parser().parse_args(["audit", "--json", "export"])
    assert (options.deed, options.format, options.file, options.json) == ("export", "jsonl", "-", True)


def test_anchors_may_be_several():
    assert build_parser().parse_args(["audit", "verify", "--anchor", "a", "--anchor", "b"]).anchor == ["a", "b"]


def test_boxes_are_removed_by_name():
    assert build_parser().parse_args(["sandbox", "rm", "a", "b"]).names == ["a", "b"]
