"""Runtime and principal of a command."""

import argparse
import asyncio
import getpass
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.session import acting_for, agent_session, this_user
from bascule.core.errors import ConfigError, UsageError
from bascule.core.events import ConfigApplied
from bascule.core.principal import Principal
from support.children import children
from support.command import configured, entry
from support.waiting import fail_after


def options(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**{"config": None, "user": None, "session": None, **given})


def test_a_principal_that_was_given_is_taken_as_it_is(capsys: pytest.CaptureFixture[str]):
    assert acting_for(options(user="alice", session="s-1")) == ("alice", "s-1")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (getpass.getuser(), "cli")),
        ({"user": "alice"}, ("alice", "cli")),
        ({"session": "s-1"}, (getpass.getuser(), "s-1")),
    ],
)
def test_what_was_not_given_is_filled_in_and_said(
    given: dict[str, str], expected: tuple[str, str], capsys: pytest.CaptureFixture[str]
):
    assert acting_for(options(**given)) == expected
    assert capsys.readouterr().err == f"acting as user {expected[0]}, session {expected[1]}\n"


async def test_an_empty_id_is_wrong_and_never_somebody_elses(tmp_path: Path):
    for given in ({"user": "", "session": "s-1"}, {"user": "alice", "session": ""}):
        with pytest.raises(UsageError, match="must be 1 to 255 printable characters"):
            async with agent_session(options(config=configured(tmp_path), **given)):
                pass


def test_a_machine_without_a_name_for_its_user_asks_for_one(monkeypatch: pytest.MonkeyPatch):
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    with pytest.raises(UsageError, match="no name for its user") as caught:
        this_user()
    assert "--user" in caught.value.fix


async def test_what_a_command_raises_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, work=entry("obeying", tmp_path / "log", raises={"act": "internal"}))
    async with fail_after(20), agent_session(options(config=config, user="alice", session="s-1")) as session:
        assert (await session.call("work_act", {})).ok
        assert (await session.call("work_act", {})).ok

    told = "alice/s-1 is now INTERNAL, was PUBLIC (raises rule of work/act); its lane is open\n"
    assert capsys.readouterr().err == told


async def test_a_command_works_in_a_session_of_the_config_it_is_told(tmp_path: Path):
    before = children()
    named = options(config=configured(tmp_path, echo=entry("echo")), user="alice", session="s-1")
    async with fail_after(20), agent_session(named) as session:
        assert session.principal == Principal("alice", "s-1")
        assert [spec.name for spec in await session.tools()] == ["echo_echo"]

    assert children() == before


async def test_without_a_word_the_config_of_this_folder_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    configured(tmp_path, echo=entry("echo"))
    monkeypatch.chdir(tmp_path)
    async with agent_session(options()) as session:
        assert [report.name for report in session.servers()] == ["echo"]


async def test_a_required_server_that_fails_does_not_keep_a_command_from_looking_at_it(tmp_path: Path):
    named = configured(tmp_path, bad=entry("failing", 3, "no API key", required=True))
    async with fail_after(20), agent_session(options(config=named)) as session:
        (report,) = [report async for report in session.connecting()]

        assert report.error is not None


async def test_notes_of_a_config_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / ".env").write_text("not a variable\n")
    async with agent_session(options(config=configured(tmp_path, echo=entry("echo")))):
        pass

    assert "note: " in capsys.readouterr().err


async def test_no_config_is_an_error_that_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no configuration found"):
        await agent_session(options()).__aenter__()


async def test_a_command_can_hear_events_and_follow_the_config(tmp_path: Path):
    heard: list[Any] = []
    applied = asyncio.Event()

    def hear(event: Any) -> None:
        heard.append(event)
        if isinstance(event, ConfigApplied):
            applied.set()

    named = options(config=configured(tmp_path, echo=entry("echo")))
    async with fail_after(20), agent_session(named, sinks=[hear], watch=True) as session:
        configured(tmp_path, other=entry("echo"))
        await applied.wait()
        assert [report.name for report in session.servers()] == ["other"]
