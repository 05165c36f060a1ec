"""The words of the command line."""

import pytest

from bascule.cli.parser import build_parser


def test_a_call_takes_a_tool_and_its_arguments():
    options = build_parser().parse_args(["call", "files_read", "path=/a", "limit:=3", "--timeout", "5"])
    assert (options.command, options.tool) == ("call", "files_read")
    assert options.arguments == ["path=/a", "limit:=3"]
    assert options.timeout == 5


def test_every_command_takes_a_config_a_principal_and_json():
    for command in (["list"], ["call", "x"], ["up"], ["logs", "x"], ["login", "x"], ["logout", "x"]):
        options = build_parser().parse_args([*command, "--config", "c", "--user", "u", "--session", "s", "--json"])
        assert (options.config, options.user, options.session, options.json) == ("c", "u", "s", True)


def test_every_command_shows_examples(capsys: pytest.CaptureFixture[str]):
    for command in ("list", "call", "up", "logs", "login", "logout"):
        with pytest.raises(SystemExit):
            build_parser().parse_args([command, "--help"])
        assert "examples:" in capsys.readouterr().out


@pytest.mark.parametrize("limit", ["nan", "inf", "0", "-1", "soon"])
def test_a_limit_that_never_ends_or_never_begins_is_refused(limit: str):
    with pytest.raises(SystemExit) as caught:
        build_parser().parse_args(["call", "x", "--timeout", limit])
    assert caught.value.code == 2


def test_a_login_waits_five_minutes_for_a_person_on_any_port():
    options = build_parser().parse_args(["login", "github"])
    assert (options.name, options.no_browser, options.timeout, options.port) == ("github", False, 300.0, 0)


def test_logs_takes_a_name_and_how_many_lines():
    options = build_parser().parse_args(["logs", "files", "-n", "0", "-f"])
    assert (options.name, options.lines, options.follow) == ("files", 0, True)
    assert build_parser().parse_args(["logs", "files"]).lines == 100


@pytest.mark.parametrize("lines", ["-1", "many", "1.5"])
def test_a_count_of_lines_is_none_or_more(lines: str):
    with pytest.raises(SystemExit):
        build_parser().parse_args(["logs", "files", f"--lines={lines}"])
