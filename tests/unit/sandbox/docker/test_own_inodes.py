"""Inodes of its own for a container: overlays in volumes that go with it, copies, and the way without overlays."""

from dataclasses import replace
from pathlib import Path

from bascule.core.sensitivity import Lane
from bascule.sandbox.docker import own_inodes as module
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.docker.own_inodes import overlay_options, private_mounts
from bascule.sandbox.spec.box import Bounds, Box, Mount
from bascule.sandbox.spec.engine import Run
from support import docker
from support.docker_boxes import an_order, said


def a_box(*mounts: Mount) -> Box:
    return Box("b-1", "files", Lane.SEALED, ("true",), {}, "/", mounts, Bounds(1, 1, 1, 1))


def test_commas_colons_and_backslashes_in_a_path_are_escaped():
    assert overlay_options("/e", "/a:b,c\\d") == "ro,nosuid,nodev,lowerdir=/e:/a\\:b\\,c\\\\d"


def test_folders_are_overlaid_and_files_are_copied(tmp_path: Path):
    folder, file = tmp_path / "data", tmp_path / "file"
    folder.mkdir()
    file.write_text("x")
    made = private_mounts(a_box(Mount(str(folder), "/d"), Mount(str(file), "/f")), tmp_path, {})
    assert made.overlays == {"/d": overlay_options(str(tmp_path / "empty-layer"), str(folder))}
    assert Path(made.box.mounts[1].source).parent == made.folder == tmp_path / "copies/b-1"
    assert made.shared.paths == ()


def test_a_folder_that_the_engine_has_refused_is_mounted_as_it_is_and_reported(tmp_path: Path):
    folder = tmp_path / "data"
    folder.mkdir()
    made = private_mounts(a_box(Mount(str(folder), "/d")), tmp_path, {str(folder): "invalid argument"})
    assert made.overlays == {}
    assert (made.shared.paths, made.shared.why) == ((str(folder),), "invalid argument")


async def test_nothing_is_left_of_a_private_container(boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine):
    before = set(daemon.run("volume", "ls", "--quiet").split())
    box = boxes.box(an_order(Lane.SEALED, "true"))
    await box.open()
    assert set(daemon.run("volume", "ls", "--quiet").split()) > before
    assert await said(real, Run(box.container, ("/usr/bin/touch", "/usr/x"))) != ""
    await box.close()
    assert set(daemon.run("volume", "ls", "--quiet").split()) == before
    assert not list((boxes._owner.folder / module.COPIES).iterdir())


async def test_without_overlays_a_container_is_made_and_the_folders_are_reported(
    boxes: DockerEngine, daemon: docker.DockerEngine, tmp_path: Path
):
    before = daemon.run("volume", "ls", "--quiet")
    folder = tmp_path / "shown"
    folder.mkdir()
    order = an_order(Lane.SEALED, "ls", str(folder))
    box = boxes.box(order)
    # An overlay of a file cannot be made by any kernel; the engine says so when it starts the container.
    (boxes._owner.folder / module.EMPTY).write_text("a file")
    await box.open()
    try:
        assert str(folder) in box.shared.paths
        assert "/usr" in box.shared.paths
        assert box.shared.why.startswith("the engine could make no overlay: ")
    finally:
        await box.close()
    assert daemon.run("volume", "ls", "--quiet") == before


async def test_an_error_about_something_else_is_no_reason_to_share(boxes: DockerEngine):
    furnished = await boxes._furnishing.of(boxes.box(an_order(Lane.SEALED, "true")).layout())
    assert not boxes._furnishing.without_overlay(furnished, EngineRefused(500, "no space left on device"))
    assert not boxes._furnishing.without_overlay(replace(furnished, private=None), EngineRefused(500, "lowerdir=/a:/b"))
    assert boxes._furnishing.no_overlay == {}
