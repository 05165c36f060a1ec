"""The image of a box."""

import hashlib
import io
import tarfile
from dataclasses import replace

import pytest

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.image import image_of, packed, volumes_of
from bascule.sandbox.spec.box import Bounds, Box, Link
from support.docker import DockerEngine
from support.fake_engine import answer, fake_engine

BOX = Box(
    "b-1",
    "files",
    Lane.SEALED,
    ("server",),
    {"TOKEN": "hunter2"},
    "/",
    (),
    Bounds(1, 1, 1, 1),
    links=(Link("/bin", "usr/bin"), Link("/root/.local/bin/tool", "/opt/tool")),
    files={"/etc/passwd": "box:x:65532\n"},
)


def test_it_holds_the_links_and_files_of_the_box_and_empty_folders():
    with tarfile.open(fileobj=io.BytesIO(packed(BOX))) as archive:
        entries = {entry.name: entry for entry in archive}
        passwd = archive.extractfile("etc/passwd")
        assert passwd is not None
        assert passwd.read() == b"box:x:65532\n"

    assert entries["bin"].linkname == "usr/bin"
    assert entries["root/.local/bin/tool"].linkname == "/opt/tool"
    assert entries["root/.local"].isdir()
    assert all(
        entry.isdir() for name, entry in entries.items() if name not in {"bin", "etc/passwd", "root/.local/bin/tool"}
    )
    assert {entry.uid for entry in entries.values()} == {0}


def test_boxes_that_differ_in_nothing_seen_there_have_the_same_image():
    assert packed(BOX) == packed(replace(BOX, name="b-2", env={}, server="other"))
    assert packed(BOX) != packed(replace(BOX, files={}))
    assert b"hunter2" not in packed(BOX)


async def test_it_is_made_once_and_named_by_what_is_in_it(real: Engine, daemon: DockerEngine):
    name = await image_of(real, BOX)
    made = daemon.run("image", "inspect", "--format={{.Id}} {{.Created}}", name)

    assert await image_of(real, BOX) == name
    assert daemon.run("image", "inspect", "--format={{.Id}} {{.Created}}", name) == made
    assert await image_of(real, replace(BOX, files={})) != name


async def test_an_engine_that_takes_none_is_told():
    async with fake_engine() as fake:
        fake.instead[hashlib.sha256(packed(BOX)).hexdigest()[:24]] = answer(200, {"error": "no space left on device"})
        with pytest.raises(SandboxError, match="did not take the image"):
            await image_of(Engine(fake.socket), BOX)


async def test_the_storage_that_an_image_wants_is_known(real: Engine, daemon: DockerEngine):
    daemon.run("import", "--change=VOLUME /data", str(daemon.folder / "empty.tar"), "wants-storage")

    assert await volumes_of(real, "wants-storage") == ("/data",)
    assert await volumes_of(real, "empty") == ()


async def test_an_image_that_is_not_there_is_not_fetched(real: Engine):
    with pytest.raises(SandboxError, match="has no image nobody/nothing") as caught:
        await volumes_of(real, "nobody/nothing")
    assert "docker pull" in caught.value.fix
