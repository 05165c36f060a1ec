"""Boxes by a container engine."""

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.errors import BasculeError, SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.owner import Owner
from bascule.sandbox.spec.box import Box
from support import docker
from support.docker_boxes import an_order


def laid(boxes: DockerEngine, *argv: str, lane: Lane = Lane.SEALED) -> Box:
    """A box as data."""
    return boxes.box(an_order(lane, *argv)).layout()


async def test_boxes_can_be_made_where_an_engine_answers(boxes: DockerEngine):
    assert await boxes.why_not() == ""
    assert boxes.kind == "docker"


async def test_without_one_the_reason_is_told_and_a_box_is_an_error(tmp_path: Path):
    owner = Owner(tmp_path / "state")
    boxes = DockerEngine(owner, {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none"})
    assert "cannot be reached" in await boxes.why_not()
    with pytest.raises(SandboxError) as caught:
        await boxes.box(an_order(Lane.OPEN, "true")).open()
    assert "cannot be reached" in caught.value.evidence
    await boxes.close()
    owner.release()


async def test_files_are_looked_at_when_a_container_is_opened_and_not_on_the_event_loop(
    boxes: DockerEngine, monkeypatch: pytest.MonkeyPatch
):
    box = boxes.box(an_order(Lane.SEALED, "no-such-program"))
    threads: list[str] = []
    layout = box.layout
    box.layout = lambda: threads.append(threading.current_thread().name) or layout()
    with pytest.raises(BasculeError, match="no-such-program"):
        await box.open()
    assert threads
    assert threading.current_thread().name not in threads


async def test_every_box_has_a_name_of_its_own_that_tells_whose_it_is(boxes: DockerEngine):
    names = {boxes.box(an_order(Lane.SEALED, "true")).name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith(f"bascule-{boxes._owner.id}-files-") for name in names)


@pytest.mark.long
async def test_what_is_run_to_its_end_tells_its_code_and_its_words_and_leaves_nothing(
    boxes: DockerEngine, daemon: docker.DockerEngine
):
    box = laid(boxes, "sh", "-c", "cat; echo out; echo err >&2; exit 7")
    ended = await boxes.run(box, 60)

    assert ended.code == 7
    assert sorted(ended.output.splitlines(keepends=True)) == ["err\n", "out\n"]
    assert box.name not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_what_takes_too_long_is_ended(boxes: DockerEngine, daemon: docker.DockerEngine):
    box = laid(boxes, "sleep", "600")
    with pytest.raises(SandboxError, match="took longer than 2 s"):
        await boxes.run(box, 2)
    assert box.name not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_what_cannot_be_run_is_told(boxes: DockerEngine):
    box = replace(laid(boxes, "true"), argv=("/nowhere/at-all",))
    ended = await boxes.run(box, 60)
    assert ended.code == 127
    assert "/nowhere/at-all could not be started" in ended.output


@pytest.mark.long
async def test_whoever_gives_up_a_run_leaves_nothing(boxes: DockerEngine, daemon: docker.DockerEngine):
    box = laid(boxes, "sleep", "600")
    running = asyncio.create_task(boxes.run(box, 60))
    await asyncio.sleep(0.3)
    running.cancel()
    await asyncio.wait((running,))
    assert box.name not in daemon.run("ps", "--all")


@pytest.mark.long
async def test_closing_the_engine_ends_its_boxes_and_its_network_and_nobody_elses(
    boxes: DockerEngine, daemon: docker.DockerEngine
):
    kept = [boxes.box(an_order(lane, "sleep", "600")) for lane in (Lane.OPEN, Lane.SEALED)]
    await asyncio.gather(*(box.open() for box in kept))
    with daemon.container() as other:
        await boxes.close()
        listed = daemon.run("ps", "--all")
        assert other.name in listed
    assert not any(box.name in listed for box in kept)
    assert f"bascule-{boxes._owner.id}" not in daemon.run("network", "ls")


async def test_closing_the_engine_finds_what_it_was_never_told_of(boxes: DockerEngine, daemon: docker.DockerEngine):
    """As when the engine made a container and crashed before it could say so."""
    daemon.run("create", "--name=unheard-of", f"--label=dev.bascule.owner={boxes._owner.id}", "empty", "/none")
    await boxes.close()
    assert "unheard-of" not in daemon.run("ps", "--all")
