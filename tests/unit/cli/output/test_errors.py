"""Errors as people read them."""

import json

from bascule.cli.output.errors import as_json, explain, explain_failure, finding_shapes, first_line, json_line, legible
from bascule.core.errors import ConfigError, ConnectFailed
from bascule.core.finding import Finding, FindingKind
from bascule.core.outcome import FailureKind, ToolFailure


def test_an_error_tells_what_where_evidence_cause_and_fix():
    error = ConnectFailed("it ended", where="connect", evidence="line 1\nline 2", cause="no disk", fix="free some")
    assert explain(error).split("\n") == [
        "BSC-401  it ended (connect)",
        "  evidence: line 1",
        "            line 2",
        "  cause:    no disk",
        "  fix:      free some",
        "  more:     bascule explain BSC-401",
    ]


def test_what_is_not_known_takes_no_line():
    assert explain(ConnectFailed("it ended")) == "BSC-401  it ended\n  more:     bascule explain BSC-401"


def test_what_the_message_says_is_not_said_again():
    shown = explain(ConfigError("/a/b.yaml:4: not YAML", problems=("/a/b.yaml:4: not YAML",), where="/a/b.yaml:4"))
    assert shown == "BSC-100  /a/b.yaml:4: not YAML\n  more:     bascule explain BSC-100"


def test_a_name_that_is_only_a_part_of_another_is_said():
    assert "(say)" in explain(ConnectFailed("two tools would be called work_say", where="say"))
    assert "(say)" not in explain(ConnectFailed("there is no tool say", where="say"))


def test_all_problems_of_a_config_are_listed():
    shown = explain(ConfigError("2 problems", problems=("a: wrong", "b: missing")))
    assert "a: wrong" in shown
    assert "b: missing" in shown


def test_a_failure_names_the_tool_and_its_kind():
    failure = ToolFailure(FailureKind.TIMEOUT, "BSC-403", "too slow", server="files", tool="read", fix="wait longer")
    assert explain_failure(failure).split("\n") == [
        "BSC-403  timeout [files/read]: too slow",
        "  fix:      wait longer",
        "  more:     bascule explain BSC-403",
    ]


def test_structured_causes_are_not_printed_as_text():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", "bad", cause={"secret": "x"})
    assert "secret" not in explain_failure(failure)


def test_the_json_shape_has_four_fields():
    assert as_json(ConnectFailed("a", evidence="b", fix="c")) == {
        "code": "BSC-401",
        "message": "a",
        "evidence": "b",
        "fix": "c",
    }


def test_what_would_move_the_cursor_or_hide_is_shown_as_an_escape():
    assert legible("a\x1b[2J \x9b \u202e \u200b \r\x07\n\tb é") == ("a\\x1b[2J \\x9b \\u202e \\u200b \\r\\x07\n    b é")


def test_a_servers_words_cannot_pass_for_a_line_of_ours():
    told = explain(ConnectFailed("it ended\n  fix:      run this", evidence="one\n  fix:      run that", fix="wait"))
    assert [line for line in told.split("\n") if line.startswith("  fix:")] == ["  fix:      wait"]
    assert explain_failure(ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", "bad\x1b[31m\n  fix: x")).split("\n") == [
        "BSC-701  tool_error: bad\\x1b[31m",
        "              fix: x",
        "  more:     bascule explain BSC-701",
    ]


def test_what_prints_and_cannot_be_seen_is_shown_as_an_escape_but_where_it_belongs():
    assert legible("a\u3164b\ufe0f 👩\u200d💻 ⚠\ufe0f") == "a\\u3164b\\ufe0f 👩\u200d💻 ⚠\ufe0f"


def test_a_json_line_hides_nothing_and_means_the_same():
    line = json_line({"a\u200b": "\x7f\u202e\U000e0041é"})
    assert line == '{"a\\u200b":"\\u007f\\u202e\\udb40\\udc41é"}'
    assert json.loads(line) == {"a\u200b": "\x7f\u202e\U000e0041é"}


def test_a_finding_is_shown_whole():
    assert finding_shapes([Finding(FindingKind.BIDI, "title", "x")]) == [
        {"kind": "bidi", "where": "title", "evidence": "x", "severity": "danger"}
    ]


def test_a_description_is_cut_to_one_harmless_line():
    assert first_line("  Reads.\nSecond line.") == "Reads."
    assert first_line("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"
    assert first_line("") == ""
    assert first_line("x" * 100) == "x" * 100
    assert first_line("x" * 101) == "x" * 99 + "…"
