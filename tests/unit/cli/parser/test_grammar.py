"""A wrong word is answered with the nearest right one, and help is readable at any width."""

import pytest

from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import Parser, WrongWords, likely


def refused(*words: str) -> WrongWords:
    with pytest.raises(WrongWords) as caught:
        build_parser().parse_args(words)
    return caught.value


@pytest.mark.parametrize(
    ("words", "message", "meant"),
    [
        (("lst",), "there is no command 'lst'", "`bascule list`"),
        (("ls",), "there is no command 'ls'", "`bascule list`"),
        (("audit", "verfy"), "there is no sub-command 'verfy'", "`bascule audit verify`"),
        (("sandbox", "remove", "x"), "there is no sub-command 'remove'", "`bascule sandbox rm`"),
        (("sessions", "raise", "--to", "secrt"), "--to cannot be 'secrt'", "`secret`"),
        (("audit", "export", "--format", "cvs"), "it is one of jsonl, csv", "`csv`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_word_that_was_meant_is_named(words: tuple[str, ...], message: str, meant: str):
    wrong = refused(*words)
    assert message in wrong.message
    assert f"did you mean {meant}? " in wrong.fix
    assert wrong.code == 2


def test_where_nothing_is_near_nothing_is_guessed_and_help_is_named():
    assert refused("zzzzzz").fix == "`bascule help` shows them all"


def test_what_is_done_by_hand_is_told_and_nothing_is_guessed():
    assert refused("remove", "notes").fix == (
        "to remove a server, take its entry out of the config; `bascule help` shows them all"
    )


def test_what_is_missing_is_named_with_an_example_and_what_can_be_chosen():
    call, snippet = refused("call"), refused("snippet")
    assert call.message == "bascule call needs TOOL"
    assert call.fix.startswith("write for example `bascule call everything_echo message=hi`; `bascule help call`")
    assert snippet.message.startswith("bascule snippet needs FRAMEWORK, one of pydantic-ai, langchain, ")
    assert snippet.fix.startswith("write for example `bascule snippet ")


def test_a_command_that_needs_a_sub_command_names_those_there_are():
    assert refused("audit").fix.startswith(
        "write `bascule audit show` or `bascule audit export` or `bascule audit verify`; `bascule help audit`"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("call", "x", "--timeout", "soon"), "--timeout cannot be 'soon'; it takes a number of seconds above 0"),
        (("logs", "x", "-n", "-1"), "-n/--lines cannot be '-1'; it takes a whole number, 0 or more"),
        (("serve", "--port", "http"), "--port cannot be 'http'; it takes a whole number"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_value_that_cannot_be_read_is_told_with_its_option_and_what_that_takes(words: tuple[str, ...], told: str):
    assert refused(*words).message == told


def test_what_an_example_is_for_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = build_parser().words["audit"].format_help().splitlines()
    assert [line for line in lines if line.startswith("      ") and len(line) > 40] == []


def test_an_option_is_told_apart_from_a_word_that_nobody_takes():
    parser = build_parser()
    for words, message, fix in (
        (["list", "--jsn"], "bascule list has no option --jsn", "did you mean `--json`? "),
        (["list", "--confg=x"], "bascule list has no option --confg", "did you mean `--config`? "),
        (["doctor", "files"], "bascule doctor does not take 'files'", "`bascule help doctor`"),
        (["audit", "show", "--lst", "3"], "bascule audit show has no option --lst", "`--last`"),
    ):
        options, left = parser.parse_known_args(words)
        with pytest.raises(WrongWords) as caught:
            parser.chosen(options).refuse_left(left)
        assert caught.value.message == message
        assert fix in caught.value.fix


def test_what_argparse_says_otherwise_is_told_as_it_is():
    assert refused("list", "--json=yes").message == "argument --json: ignored explicit argument 'yes'"
    assert refused("--verson").message == "bascule has no option --verson"


def test_an_option_is_written_out():
    assert refused("list", "--conf", "x").message


def test_a_word_that_other_programs_use_is_known_only_where_ours_is():
    assert likely("status", ["up", "list"]) == ["up"]
    assert likely("start", ["bash", "zsh"]) == []


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_what_an_example_is_for_stands_beside_it_or_below(monkeypatch: pytest.MonkeyPatch, columns: str):
    monkeypatch.setenv("COLUMNS", columns)
    parser = Parser(prog="it")
    parser.has_words("command")
    parser.word("go", "go there").document(f"  it go  {'far ' * 15}\n  it go --fast")
    shown = parser.words["go"].format_help()
    assert ("it go\n      far" in shown) == (columns == "60")
    assert ("it go  far" in shown) == (columns != "60")
    assert "\n  it go --fast\n" in shown


def test_options_that_exclude_each_other_are_known_like_all_others():
    parser = Parser(prog="it")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--by-sea", action="store_true", help="slowly")
    ways.add_argument("--by-air", action="store_true", help="loudly")
    assert [action.option_strings[-1] for action in parser.settings] == ["--help", "--by-sea", "--by-air"]
    assert "--by-air" in parser.format_help().partition("options:")[2]
