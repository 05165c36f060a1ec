"""The stage of the story, and the TCP receiver on it."""

import asyncio
import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from bascule.config.state_dir import state_folder
from bascule.core.permission import Permission
from bascule.demo.story.stage import FILES, MOST, PACKAGE, THANKS, built_in, receiving, stage, surrounded
from support.waiting import fail_after, until


def test_state_is_kept_on_the_stage_and_nothing_of_it_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "mine"))
    with stage() as place:
        assert state_folder(os.environ) == place.home
        assert {path.name: path.read_text() for path in (place.folder / "files").iterdir()} == FILES
        place.home.mkdir()
        (place.home / "kept").touch()

    assert not place.folder.exists()
    assert state_folder(os.environ) == tmp_path / "mine"


def test_it_is_gone_also_if_the_story_breaks_off():
    with pytest.raises(KeyboardInterrupt), stage() as place:  # noqa: PT012
        assert place.folder.exists()
        raise KeyboardInterrupt
    assert not place.folder.exists()


@pytest.mark.parametrize(("said", "meant"), [(None, "bubblewrap"), ("docker", "bubblewrap"), ("none", "none")])
def test_boxes_are_made_by_bubblewrap_unless_none_are_wanted(
    monkeypatch: pytest.MonkeyPatch, said: str | None, meant: str
):
    monkeypatch.delenv("BASCULE_SANDBOX")
    if said is not None:
        monkeypatch.setenv("BASCULE_SANDBOX", said)
    with stage():
        assert os.environ["BASCULE_SANDBOX"] == meant
    assert os.environ.get("BASCULE_SANDBOX") == said


def test_its_servers_read_and_send_and_the_first_is_believed_about_labels():
    with stage() as place:
        files, post = place.config.servers["files"], place.config.servers["post"]

    assert (files.trust, post.trust) == ({"labels"}, frozenset())
    assert files.permissions == {"list": {Permission.READ}, "read": {Permission.READ}}
    assert post.permissions == {"send": {Permission.WRITE, Permission.CONNECT}}


def test_a_built_in_server_is_of_this_very_version():
    transport = built_in("notes", "x")

    assert (transport.command, transport.args) == (sys.executable, ("-m", "bascule.demo.notes", "x"))
    assert (PACKAGE / "bascule" / "demo" / "notes.py").is_file()
    assert transport.cwd == str(PACKAGE)


def test_the_environment_is_afterwards_as_it_was(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ONE", "1")
    monkeypatch.delenv("TWO", raising=False)
    with surrounded({"ONE": "one", "TWO": "two"}):
        assert (os.environ["ONE"], os.environ["TWO"]) == ("one", "two")

    assert os.environ["ONE"] == "1"
    assert "TWO" not in os.environ


def where(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


async def test_it_is_on_the_loopback_and_takes_what_comes():
    async with fail_after(20), receiving() as receiver:
        for words in (b"one", b"two"):
            reader, writer = await asyncio.open_connection(*where(receiver.address))
            writer.write(words)
            writer.write_eof()
            assert await reader.read() == THANKS
            writer.close()

        assert receiver.address.startswith("127.0.0.1:")
        assert receiver.messages == [b"one", b"two"]


async def test_of_a_long_message_the_beginning_is_kept():
    async with fail_after(20), receiving() as receiver:
        reader, writer = await asyncio.open_connection(*where(receiver.address))
        writer.write(b"x" * (3 * MOST))
        writer.write_eof()
        await reader.read()
        writer.close()

        assert [len(message) for message in receiver.messages] == [MOST]


async def test_who_hangs_up_in_the_middle_harms_nobody():
    async with fail_after(20), receiving() as receiver:
        with socket.create_connection(where(receiver.address)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader, writer = await asyncio.open_connection(*where(receiver.address))
        writer.write(b"after")
        writer.write_eof()
        assert await reader.read() == THANKS
        writer.close()

        await until(lambda: b"after" in receiver.messages)


async def test_when_it_is_closed_nobody_listens_there():
    async with receiving() as receiver:
        pass

    with socket.socket() as line:
        assert line.connect_ex(where(receiver.address)) != 0
