"""Containers completed for sandboxes: mounts below other mounts, and the owner of workspace files."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.config.model.sandbox import HostPath
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker import provision as module
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.docker.provision import hand_over
from bascule.sandbox.spec.box import DECOYS, USER, Link
from support import docker
from support.docker_boxes import an_order, said


async def test_the_one_list_of_refused_calls_is_what_the_container_gets(boxes: DockerEngine):
    furnished = await boxes._furnishing.of(boxes.box(an_order(Lane.SEALED, "true")).layout())
    (profile,) = [option for option in furnished.body["HostConfig"]["SecurityOpt"] if option.startswith("seccomp=")]
    refused = {name for rule in json.loads(profile.partition("=")[2])["syscalls"] for name in rule["names"]}

    assert {"io_uring_setup", "bpf", "mount", "ptrace"} <= refused


async def test_only_an_open_box_is_given_a_network(boxes: DockerEngine):
    modes = {
        lane: (await boxes._furnishing.of(boxes.box(an_order(lane, "true")).layout())).body["HostConfig"]["NetworkMode"]
        for lane in Lane
    }

    assert modes[Lane.SEALED] == modes[Lane.PROXIED] == "none"
    assert modes[Lane.OPEN] == await boxes._network.ready()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.long
async def test_the_workspace_belongs_to_whoever_the_server_is(boxes: DockerEngine, real: Engine, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o700)
    (workspace / "ours").write_text("before")
    command = ("sh", "-c", "echo after >/workspace/ours && cp /workspace/ours /workspace/theirs && id -u")
    run = await boxes.box(an_order(Lane.SEALED, *command, workspace=workspace)).open()

    assert await said(real, run) == str(USER)
    assert (workspace / "theirs").read_text() == "after\n"


async def test_who_is_not_root_outside_is_the_same_inside(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    assert module.user() == (1000, 100)


@pytest.mark.long
async def test_an_image_of_its_own_is_given_our_python_and_keeps_its_own_path(
    boxes: DockerEngine, real: Engine, daemon: docker.DockerEngine, tmp_path: Path
):
    """There is nothing at all in this image but one program, with the libraries that it needs."""
    needed = subprocess.run(["ldd", "/usr/bin/env"], capture_output=True, text=True, check=True).stdout
    libraries = [word for word in needed.split() if word.startswith("/")]
    tar = tmp_path / "bare.tar"
    renamed = ("--dereference", "--transform=s,usr/bin/env,programs/show,")
    subprocess.run(["tar", "-cPf", str(tar), *renamed, "/usr/bin/env", *libraries], check=True)
    changes = ("--change=ENV PATH=/programs:/bin", "--change=VOLUME /data", "--change=HEALTHCHECK CMD show")
    daemon.run("import", *changes, str(tar), "bare")
    run = await boxes.box(an_order(Lane.SEALED, "show", image="bare", env={"TOKEN": "t"})).open()

    shown = dict(line.split("=", 1) for line in (await said(real, run)).splitlines())
    assert (shown["PATH"], shown["TOKEN"], shown["HOME"]) == ("/programs:/bin", "t", "/home/box")
    (told,) = json.loads(daemon.run("inspect", run.container))
    assert [mount["Type"] for mount in told["Mounts"] if mount["Destination"] == "/data"] == ["tmpfs"]
    assert "Health" not in told["State"]


async def test_a_path_that_was_configured_is_kept_in_an_image(boxes: DockerEngine):
    box = boxes.box(an_order(Lane.SEALED, "show", image="empty")).layout()
    assert "PATH" not in boxes._furnishing._env(box)
    assert boxes._furnishing._env(replace(box, env={"PATH": "/own"}))["PATH"] == "/own"


SOMEBODY = 65532

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def owner(path: Path) -> int:
    return path.lstat().st_uid


@needs_root
def test_everything_in_the_folder_becomes_somebodys_own(tmp_path: Path):
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (home / "deep" / "file").write_text("x")

    hand_over(home, SOMEBODY, SOMEBODY)

    assert {owner(path) for path in (home, home / "deep", home / "deep" / "file")} == {SOMEBODY}
    assert (home / "deep" / "file").stat().st_gid == SOMEBODY


@needs_root
def test_no_link_leads_out(tmp_path: Path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "file").write_text("x")
    (home / "file").symlink_to(outside / "file")
    (home / "folder").symlink_to(outside)

    hand_over(home, SOMEBODY, SOMEBODY)

    assert (owner(outside), owner(outside / "file")) == (0, 0)
    assert owner(home / "folder") == SOMEBODY


@needs_root
def test_a_file_with_another_name_elsewhere_stays_whose_it_is(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "key").write_text("x")
    os.link(tmp_path / "key", home / "key")

    hand_over(home, SOMEBODY, SOMEBODY)

    assert owner(tmp_path / "key") == 0


async def test_what_is_mounted_below_a_mask_on_the_host_stays_masked(
    boxes: DockerEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shown, masked = tmp_path / "shown", tmp_path / "shown/.claude"
    (masked / "inner").mkdir(parents=True)
    (shown / "disk").mkdir()
    points = [str(path) for path in (masked, masked / "inner", shown / "disk")]
    monkeypatch.setattr(module, "mounted_here", lambda: points)
    laid = boxes.box(an_order(Lane.SEALED, "cat", mounts=(HostPath(str(shown)),))).layout()
    furnished = await boxes._furnishing.of(laid)
    below = [each for each in furnished.body["HostConfig"]["Mounts"] if each["Target"].startswith(str(shown))]

    assert [(each["Type"], each["Target"]) for each in below] == [
        ("volume", str(shown)),
        ("volume", f"{shown}/disk"),
        ("tmpfs", str(masked)),
    ]


async def test_what_replaces_a_link_in_memory_has_the_same_masks(boxes: DockerEngine, tmp_path: Path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    for name in ("server.py", "package.json", ".env"):
        (real / name).touch()
    laid = boxes.box(an_order(Lane.SEALED, "sh", str(link / "server.py"))).layout()
    laid = replace(
        laid, links=(Link(str(link), str(real)),), mounts=tuple(m for m in laid.mounts if m.source != str(link))
    )
    furnished = await boxes._furnishing.of(laid)
    source = str(boxes._owner.empty_file(laid.name))
    empty = [each["Target"] for each in furnished.body["HostConfig"]["Mounts"] if each.get("Source") == source]

    assert empty == [f"{DECOYS}/fifo", f"{DECOYS}/socket", f"{real}/.env", f"{link}/.env"]
