"""`bascule login`: output, and start of the browser."""

import argparse
import json
import sys
from pathlib import Path

import pytest

from bascule.cli.commands.login import may_open_browser, send_person, show_json, show_text
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import ConnectFailed
from bascule.runtime.servers.status import LoginReport, ServerReport
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState
from support.command import bascule, configured, entry

AGREED = Agreement("2026-07-28", {}, {"name": "guarded\x1b[1m", "version": "2"}, "")
READY = LoginReport(
    ServerReport("notes", "http", LinkState.READY, agreement=AGREED, tools=3), "https://login.example", "read write"
)
FAILED = LoginReport(
    ServerReport("notes", "http", LinkState.FAILED, error=ConnectFailed("gone", fix="mend it")), "https://l.example", ""
)


def test_a_login_is_told_with_who_what_and_how_many(capsys: pytest.CaptureFixture[str]):
    show_text(READY, "alice")
    assert capsys.readouterr().out.splitlines() == [
        "logged in: user alice at notes, by https://login.example",
        "  rights:  read write",
        "  server:  guarded\\x1b[1m 2, protocol 2026-07-28, 3 tools",
    ]


def test_a_server_that_fails_with_a_good_login_is_told_too(capsys: pytest.CaptureFixture[str]):
    show_text(FAILED, "alice")
    told = capsys.readouterr()
    assert told.out == "logged in: user alice at notes, by https://l.example\n"
    assert "gone" in told.err


def test_for_programs_it_is_one_object(capsys: pytest.CaptureFixture[str]):
    show_json(READY, "alice")
    shape = json.loads(capsys.readouterr().out)
    assert shape == {
        "ok": True,
        "server": "notes",
        "user": "alice",
        "issuer": "https://login.example",
        "scope": "read write",
        "state": "ready",
        "tools": 3,
        "error": None,
    }
    show_json(FAILED, "alice")
    assert json.loads(capsys.readouterr().out)["error"]["fix"] == "mend it"


async def test_the_address_is_always_printed(capsys: pytest.CaptureFixture[str]):
    await send_person("https://login.example/authorize?state=s", browser=False)
    told = capsys.readouterr()
    assert "log in at:\n  https://login.example/authorize?state=s\n" in told.err
    assert told.out == ""


@pytest.mark.parametrize(("no_browser", "json"), [(True, False), (False, True), (False, False)])
def test_no_browser_is_opened_where_nobody_sits_before_one(
    no_browser: bool, json: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DISPLAY", ":0")
    assert not sys.stderr.isatty()
    assert not may_open_browser(argparse.Namespace(no_browser=no_browser, json=json))


@pytest.mark.long
async def test_one_logs_in_only_at_remote_servers_of_this_config(tmp_path: Path):
    config = configured(
        tmp_path, echo=entry("echo"), keyed={"url": "https://a.test", "headers": {"Authorization": "x"}}
    )
    for name, told in (("echo", "no remote server"), ("keyed", "by the config"), ("other", "no server is called")):
        for command in ("login", "logout"):
            ran = await bascule(tmp_path, command, name, "--config", config)
            assert ran.code == 2
            assert told in ran.err


def test_a_login_waits_five_minutes_for_a_person_on_any_port():
    options = build_parser().parse_args(["login", "github"])
    assert (options.name, options.no_browser, options.timeout, options.port) == ("github", False, 300.0, 0)
