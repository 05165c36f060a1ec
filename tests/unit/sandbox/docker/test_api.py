"""What an engine is asked, and what is made of its answers."""

import socket
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bascule.core.errors import ConnectFailed
from bascule.sandbox.docker import api as docker_engine
from bascule.sandbox.docker.api import (
    DEFAULT_SOCKET,
    Engine,
    EngineRefused,
    RunState,
    read_answer,
    socket_of,
)
from bascule.sandbox.spec.engine import Run
from support.fake_engine import BOX, FakeEngine, answer, fake_engine


@pytest.fixture
async def fake() -> AsyncGenerator[FakeEngine]:
    async with fake_engine() as engine:
        yield engine


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, DEFAULT_SOCKET),
        ({"DOCKER_HOST": ""}, DEFAULT_SOCKET),
        ({"DOCKER_HOST": "unix:///run/user/1000/podman/podman.sock"}, "/run/user/1000/podman/podman.sock"),
    ],
)
def test_the_socket_is_where_every_client_looks(environ: dict[str, str], path: str):
    assert socket_of(environ) == path


@pytest.mark.parametrize(
    "host", ["tcp://10.0.0.1:2375", "ssh://me@host", "/var/run/docker.sock", "unix://", "unix://x"]
)
def test_an_engine_elsewhere_is_refused_and_never_another_one_used(host: str):
    with pytest.raises(ConnectFailed, match="DOCKER_HOST") as caught:
        socket_of({"DOCKER_HOST": host})
    assert "unix://" in caught.value.fix


async def test_what_is_run_has_three_streams_no_terminal_and_only_the_given_variables(fake: FakeEngine):
    run = Run(BOX, ("server", "--flag"), {"TOKEN": "hunter2"}, "/srv")

    assert await Engine(fake.socket).prepare(run) == "0"
    assert fake.runs[0].asked == {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Cmd": ["server", "--flag"],
        "Env": ["TOKEN=hunter2"],
        "WorkingDir": "/srv",
    }
    assert "hunter2" not in repr(run)


async def test_how_far_a_run_is(fake: FakeEngine):
    engine = Engine(fake.socket)
    run_id = await engine.prepare(Run(BOX, ("true",)))

    before = await engine.look(run_id)
    assert (before.started, before.ended) == (False, False)
    await engine.ask("POST", f"/exec/{run_id}/start", {"Detach": True, "Tty": False})
    assert (await engine.look(run_id)).started


def test_a_run_that_was_never_found_has_ended_and_not_started():
    assert not RunState(running=True, code=None, pid=0).started
    failed = RunState(running=False, code=126, pid=0)
    assert (failed.started, failed.ended) == (False, True)


async def test_a_container_runs_or_not_and_an_unknown_one_does_not(fake: FakeEngine):
    engine = Engine(fake.socket)

    assert await engine.is_up(BOX)
    assert not await engine.is_up("other")
    fake.up = False
    assert not await engine.is_up(BOX)


async def test_a_refusal_carries_its_status_and_the_engines_words(fake: FakeEngine):
    fake.up = False
    with pytest.raises(EngineRefused, match="is not running") as caught:
        await Engine(fake.socket).prepare(Run(BOX, ("server",)))
    assert caught.value.status == 409


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH\r\n", b"", b"HTTP/1.0 huh\r\n\r\n"])
async def test_what_is_no_engine_is_told(fake: FakeEngine, said: bytes):
    fake.instead["/json"] = said
    with pytest.raises(EngineRefused, match="does not speak HTTP"):
        await Engine(fake.socket).look("0")


async def test_an_answer_without_end_is_not_held(fake: FakeEngine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(docker_engine, "LONGEST_ANSWER", 1000)
    fake.instead["/json"] = answer(200, {"pad": "x" * 2000})
    with pytest.raises(ConnectFailed, match="longer than 1000 bytes"):
        await Engine(fake.socket).look("0")


async def test_an_engine_that_hangs_is_not_awaited_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(docker_engine, "ANSWER_WITHIN", 0.05)
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)
        listener.bind("s")
        listener.listen()
        with pytest.raises(ConnectFailed, match="did not answer"):
            await Engine("s").look("0")


async def test_an_engine_that_is_not_there_is_told_with_a_fix(tmp_path: Path):
    with pytest.raises(ConnectFailed, match="cannot be reached") as caught:
        await Engine(str(tmp_path / "none")).look("0")
    assert "DOCKER_HOST" in caught.value.fix


def test_a_socket_that_we_may_not_use_has_another_fix():
    assert "group" in docker_engine.unreachable("/s", PermissionError(13, "denied")).fix


@pytest.mark.parametrize("body", [b"not json", b"[1]", b'"text"'])
def test_an_answer_that_says_nothing_we_can_read_has_its_status_alone(body: bytes):
    answer = read_answer(b"HTTP/1.1 500 Oops\r\n\r\n" + body)
    assert (answer.status, answer.message) == (500, "")
