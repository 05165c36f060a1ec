"""One sandbox that is a container: its life, and every way in which it can end."""

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker import box as module
from bascule.sandbox.docker import remove
from bascule.sandbox.docker.api import Engine, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.docker.box import processes_of, strike
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.spec.box import USER
from support import docker
from support.docker_boxes import an_order, python, said
from support.outer_world import PORT, elsewhere
from support.waiting import until


async def test_it_is_made_when_it_is_opened_and_opened_again_it_is_the_same(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine
):
    box = boxes.box(an_order(Lane.SEALED, "echo", "hello"))
    assert box.name not in daemon.run("ps", "--all")

    first, second = await box.open(), await box.open()

    assert first == second
    assert [await said(real, first), await said(real, second)] == ["hello", "hello"]


@pytest.mark.long
async def test_several_who_open_it_at_once_get_one_container(boxes: DockerEngine, daemon: docker.DockerEngine):
    box = boxes.box(an_order(Lane.SEALED, "echo", "hello"))
    runs = await asyncio.gather(*(box.open() for _ in range(4)))

    assert {run.container for run in runs} == {box.container}
    assert daemon.run("ps", "--all", "--quiet", f"--filter=name={box.name}").count("\n") == 0


@pytest.mark.long
async def test_one_whose_container_was_killed_is_made_again_when_it_is_opened(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine
):
    box = boxes.box(an_order(Lane.SEALED, "echo", "hello"))
    first = await box.open()
    daemon.run("kill", first.container)
    await until(lambda: first.container[:12] not in daemon.run("ps"))

    second = await box.open()

    assert second.container != first.container
    assert await said(real, second) == "hello"
    assert first.container[:12] not in daemon.run("ps", "--all")


async def test_closing_leaves_nothing_at_once_however_often_it_is_asked(
    boxes: DockerEngine, daemon: docker.DockerEngine
):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    await box.open()
    await asyncio.gather(*(box.close() for _ in range(3)))
    await box.close()

    assert box.name not in daemon.run("ps", "--all")
    with pytest.raises(SandboxError, match="was closed"):
        await box.open()


async def test_one_that_was_never_opened_closes(boxes: DockerEngine):
    await boxes.box(an_order(Lane.SEALED, "sleep", "600")).close()


@pytest.mark.parametrize("steps", [0, 1, 3, 10, 30, 100])
async def test_closing_in_the_middle_of_its_making_leaves_nothing(
    boxes: DockerEngine, daemon: docker.DockerEngine, steps: int
):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    opening = asyncio.create_task(box.open())
    for _ in range(steps):
        await asyncio.sleep(0.002)

    await box.close()

    assert box.name not in daemon.run("ps", "--all")
    [found] = await asyncio.gather(opening, return_exceptions=True)
    # A quick machine has made it by then, after the most steps, or in the moment in which it is closed.
    if isinstance(found, BaseException) or steps < 10:
        assert isinstance(found, SandboxError)
        assert "was closed" in str(found)


@pytest.mark.long
async def test_whoever_gives_up_opening_it_leaves_nothing_that_closing_does_not_find(
    boxes: DockerEngine, daemon: docker.DockerEngine
):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    opening = asyncio.create_task(box.open())
    await asyncio.sleep(0.1)
    opening.cancel()
    await asyncio.wait((opening,))
    await box.close()

    assert box.name not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_a_box_that_is_not_tight_is_told_with_the_reason_and_is_gone(
    boxes: DockerEngine, daemon: docker.DockerEngine, monkeypatch: pytest.MonkeyPatch
):
    """As if an engine gave a network although none was asked for."""
    made = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    furnish = module.Furnishing.of

    async def leaky(self: module.Furnishing, box: object) -> module.Furnished:
        furnished = await furnish(self, made.layout())
        host = {**furnished.body["HostConfig"], "NetworkMode": "bridge"}
        return replace(furnished, body={**furnished.body, "HostConfig": host})

    monkeypatch.setattr(module.Furnishing, "of", leaky)
    with pytest.raises(SandboxError, match="is not tight, and nothing was run in it") as caught:
        await made.open()

    assert "there is a network: eth0 is up" in caught.value.evidence
    assert made.name not in daemon.run("ps", "--all")


async def test_one_that_does_not_come_up_is_told_with_what_it_said(boxes: DockerEngine, daemon: docker.DockerEngine):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    laid = replace(box.layout(), python="/usr/bin/false")
    box.layout = lambda: laid
    with pytest.raises(SandboxError, match="did not come up") as caught:
        await box.open()
    assert "code 1" in caught.value.evidence
    assert box.name not in daemon.run("ps", "--all")


async def test_a_folder_that_went_meanwhile_is_told_in_the_engines_words(boxes: DockerEngine, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600", workspace=workspace))
    laid = box.layout()
    mounts = tuple(replace(m, source=f"{m.source}-gone") if m.writable else m for m in laid.mounts)
    box.layout = lambda: replace(laid, mounts=mounts)
    with pytest.raises((SandboxError, FileNotFoundError)):
        await box.open()


@pytest.mark.long
async def test_whoever_looks_at_the_container_sees_no_secret(boxes: DockerEngine, daemon: docker.DockerEngine):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600", env={"TOKEN": "hunter2-hunter2"}))
    run = await box.open()

    assert run.env["TOKEN"] == "hunter2-hunter2"
    told = daemon.run("inspect", run.container)
    assert "hunter2" not in told
    assert "alice" not in told
    assert json.loads(told)[0]["Config"]["Labels"]["dev.bascule.lane"] == "sealed"


@pytest.mark.long
async def test_an_open_box_that_is_cut_has_no_network_any_more(boxes: DockerEngine, real: Engine):
    box = boxes.box(an_order(Lane.OPEN, "cat", "/proc/net/route"))
    run = await box.open()
    assert "eth0" in await said(real, run)
    await box.cut()
    assert "eth0" not in await said(real, run)
    await box.cut()
    await boxes.box(an_order(Lane.SEALED, "true")).cut()


@pytest.mark.long
async def test_without_its_engine_what_runs_in_it_is_ended_all_the_same_and_the_rest_when_it_is_back(
    boxes: DockerEngine, daemon: docker.DockerEngine, tmp_path: Path
):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    run = await box.open()
    there = box._engine.socket
    box._engine.socket = str(tmp_path / "none")
    assert processes_of(run.container)
    await box.close()
    assert processes_of(run.container) == []
    await box.close()

    box._engine.socket = there
    assert run.container[:12] in daemon.run("ps", "--all")
    await boxes.box(an_order(Lane.SEALED, "true")).open()
    assert run.container[:12] not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_where_it_cannot_be_seen_either_it_is_told_and_closing_may_be_asked_again(
    boxes: DockerEngine, daemon: docker.DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    monkeypatch.setattr(module, "processes_of", lambda _: [])
    run = await box.open()
    there = box._engine.socket
    box._engine.socket = str(tmp_path / "none")
    monkeypatch.setattr(remove, "GONE_WITHIN", 0.1)
    with pytest.raises(SandboxError, match="could not be removed"):
        await box.close()
    monkeypatch.undo()
    box._engine.socket = there
    await box.close()
    assert run.container[:12] not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_a_container_that_was_made_without_our_being_told_does_not_stand_in_the_way(
    boxes: DockerEngine, daemon: docker.DockerEngine, monkeypatch: pytest.MonkeyPatch
):
    """The engine crashes when it has made the container and before it says so."""
    box = boxes.box(an_order(Lane.SEALED, "true"))
    ask = Engine.ask

    async def unanswered(self: Engine, method: str, path: str, *args: Any, **more: Any) -> Any:
        answer = await ask(self, method, path, *args, **more)
        if path.startswith("/containers/create"):
            raise ConnectFailed("the container engine hung up")
        return answer

    monkeypatch.setattr(Engine, "ask", unanswered)
    with pytest.raises(SandboxError, match="could not be made"):
        await box.open()
    monkeypatch.undo()
    assert box.name in daemon.run("ps", "--all")
    await box.open()


PROLONG = """
import os
def attempt(name, action, *args):
    try:
        action(*args)
    except OSError:
        return
    print(name)
pipe = "/run/bascule/runtime.pipe"
attempt("writer", os.open, pipe, os.O_WRONLY | os.O_NONBLOCK)
attempt("both", os.open, pipe, os.O_RDWR | os.O_NONBLOCK)
attempt("mode", os.chmod, pipe, 0o666)
attempt("another", os.replace, "/tmp/other", pipe)
attempt("descriptors", os.listdir, "/proc/1/fd")
attempt("memory", os.open, "/proc/1/mem", os.O_RDWR)
attempt("memory of its thread", os.open, "/proc/1/task/1/mem", os.O_RDWR)
open("/tmp/other", "w").close()
print("done")
"""


async def test_a_server_cannot_outlive_its_runtime_although_the_pipe_is_its_own_user_s(
    boxes: DockerEngine, real: Engine
):
    """As where the runtime is no root: the server is the same user, and so the owner of the pipe."""
    box = boxes.box(an_order(Lane.SEALED, *python(PROLONG)))
    os.chown(boxes._owner.liveness_pipe(box.name), USER, USER)
    run = await box.open()
    assert await said(real, run) == "done"


@pytest.mark.long
async def test_what_is_left_ends_with_the_owner_though_no_engine_answers(
    boxes: DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also where the runtime cannot see the processes of containers, and so cannot kill them."""
    box = boxes.box(an_order(Lane.SEALED, "sleep", "600"))
    run = await box.open()
    there, boxes._engine.socket = boxes._engine.socket, str(tmp_path / "none")
    try:
        boxes._owner.release()
        await until(lambda: not processes_of(run.container))
    finally:
        boxes._engine.socket = there


STREAM = """
import socket, sys, time
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as there:
    while True:
        there.sendall(b"x")
        time.sleep(0.005)
"""


@pytest.mark.long
@pytest.mark.parametrize("by", ["cut", "close"])
async def test_a_stream_out_of_an_open_box_ends_with_its_network_and_the_tighter_one_is_another_container(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine, tmp_path: Path, by: str
):
    with elsewhere(daemon, tmp_path) as host:
        wide = boxes.box(an_order(Lane.OPEN, *python(STREAM, host.address, str(PORT))))
        run = await wide.open()
        async with listening_to(real, *started(await real.prepare(run))):
            await until(lambda: host.heard.stat().st_size > 10)
            await (wide.cut() if by == "cut" else wide.close())
            # What was on its way has arrived by now.
            await asyncio.sleep(0.1)
            heard = host.heard.stat().st_size
            tight = boxes.box(an_order(Lane.SEALED, "true"))
            assert (await tight.open()).container != run.container
            assert host.heard.stat().st_size == heard


@pytest.mark.long
async def test_all_that_runs_in_a_container_is_killed_and_nothing_in_another(daemon: docker.DockerEngine):
    with daemon.container() as struck, daemon.container() as spared:
        ids = [daemon.run("inspect", "--format={{.Id}}", each.name) for each in (struck, spared)]
        daemon.run("exec", "--detach", struck.name, "sleep", "600")
        assert len(processes_of(ids[0])) >= 2

        assert strike(ids[0])

        assert processes_of(ids[0]) == []
        assert processes_of(ids[1])
        await until(lambda: struck.name not in daemon.run("ps", "--format={{.Names}}").split())
        assert spared.name in daemon.run("ps", "--format={{.Names}}").split()


def test_a_process_that_cannot_be_killed_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A process that is seen and is not there: it cannot be killed, and does not go."""
    (tmp_path / "4194999").mkdir()
    (tmp_path / "4194999" / "cgroup").write_text("0::/docker/abc\n")
    (tmp_path / "4194999" / "stat").write_text("4194999 (server) S 1")
    monkeypatch.setattr(module, "PROCESSES", tmp_path)
    monkeypatch.setattr(module, "STRUCK_WITHIN", 0.05)

    assert processes_of("abc") == [4194999]
    assert not strike("abc")
    (tmp_path / "4194999" / "stat").write_text("4194999 (server) Z 1")
    assert strike("abc")
