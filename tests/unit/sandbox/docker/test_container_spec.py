"""What an engine is asked for when a box is to become a container."""

import json
from dataclasses import replace
from typing import Any

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.container_spec import Making, body
from bascule.sandbox.spec.box import Bounds, Box, MaskedPath, Mount

MIB = 1024**2
BOX = Box(
    name="b-1",
    server="files",
    lane=Lane.SEALED,
    argv=("/usr/bin/server", "--token", "configured"),
    env={"TOKEN": "hunter2-hunter2"},
    cwd="/",
    mounts=(Mount("/usr", "/usr"), Mount("/w", "/workspace", writable=True)),
    bounds=Bounds(memory=64 * MIB, cpus=0.5, pids=32, disk=100 * MIB),
    labels={"dev.bascule.principal": "f00"},
)
MAKING = Making("img", ("/usr/bin/python", "entry.py"), "65532:65532", '{"defaultAction": "x"}')


def host(box: Box = BOX, making: Making = MAKING) -> dict[str, Any]:
    return body(box, making)["HostConfig"]


def test_a_container_has_no_right_that_it_does_not_need():
    config = host()

    assert config["CapDrop"] == ["ALL"]
    assert config["ReadonlyRootfs"] is True
    assert config["Privileged"] is False
    assert config["IpcMode"] == "none"
    assert config["SecurityOpt"] == ["no-new-privileges", 'seccomp={"defaultAction": "x"}']
    assert body(BOX, MAKING)["User"] == "65532:65532"
    assert not {"CapAdd", "Devices", "PidMode", "VolumesFrom", "Binds", "PortBindings"} & config.keys()


def test_it_may_use_up_what_its_bounds_say_and_no_swap():
    config = host()

    assert (config["Memory"], config["MemorySwap"]) == (64 * MIB, 64 * MIB)
    assert config["NanoCpus"] == 500_000_000
    assert config["PidsLimit"] == 32
    assert config["OomScoreAdj"] > 0
    assert {limit["Name"]: limit["Hard"] for limit in config["Ulimits"]} == {"core": 0, "nofile": 4096}


def test_what_it_may_write_beside_the_workspace_is_never_more_in_all_than_its_disk():
    def sizes(making: Making) -> list[int]:
        config = host(making=making)
        own = [int(options.partition("size=")[2].partition(",")[0]) for options in config["Tmpfs"].values()]
        return own + [m["TmpfsOptions"]["SizeBytes"] for m in config["Mounts"] if m["Type"] == "tmpfs"]

    assert sum(sizes(MAKING)) <= 100 * MIB
    assert len(sizes(replace(MAKING, volumes=("/data", "/cache")))) == 4
    assert sum(sizes(replace(MAKING, volumes=("/data", "/cache")))) <= 100 * MIB


def test_programs_cannot_be_put_into_tmp_and_only_the_server_sees_its_home():
    tmpfs = host()["Tmpfs"]

    assert "noexec" in tmpfs["/tmp"].split(",")
    assert {"mode=0700", "uid=65532", "gid=65532"} <= set(tmpfs["/home/box"].split(","))
    assert all({"nosuid", "nodev"} <= set(options.split(",")) for options in tmpfs.values())


def test_what_is_mounted_to_be_read_brings_nothing_along_that_could_be_written():
    usr, workspace = host()["Mounts"]

    assert (usr["ReadOnly"], usr["BindOptions"]["NonRecursive"]) == (True, True)
    assert workspace["ReadOnly"] is False
    assert {mount["BindOptions"]["Propagation"] for mount in (usr, workspace)} == {"rprivate"}


def test_of_two_mounts_in_one_place_the_later_one_stands():
    box = replace(BOX, mounts=(Mount("/a", "/x"), Mount("/b", "/x", writable=True)))

    assert [(mount["Source"], mount["ReadOnly"]) for mount in host(box)["Mounts"]] == [("/b", False)]


def test_a_mask_is_an_empty_folder_or_an_empty_file_and_read_only():
    masks = (
        MaskedPath("/x/state", folder=True, why="", source="/"),
        MaskedPath("/x/.env", folder=False, why="", source="/"),
    )
    folder, file = host(replace(BOX, masks=masks), replace(MAKING, empty="/run/empty"))["Mounts"][-2:]

    assert (folder["Type"], folder["Target"], folder["ReadOnly"]) == ("tmpfs", "/x/state", True)
    assert (file["Source"], file["Target"], file["ReadOnly"]) == ("/run/empty", "/x/.env", True)


def test_without_a_network_of_ours_it_has_none():
    assert host()["NetworkMode"] == "none"
    assert host(making=replace(MAKING, network="n-1"))["NetworkMode"] == "n-1"


def test_whoever_looks_at_the_container_finds_neither_the_servers_variables_nor_its_arguments():
    told = json.dumps(body(BOX, MAKING))

    assert "hunter2" not in told
    assert "configured" not in told
    assert "Env" not in body(BOX, MAKING)


def test_nothing_of_it_is_kept_in_logs_and_nothing_runs_beside_the_server():
    asked = body(BOX, MAKING)

    assert asked["HostConfig"]["LogConfig"] == {"Type": "none"}
    assert asked["Healthcheck"] == {"Test": ["NONE"]}
    assert asked["HostConfig"]["RestartPolicy"] == {"Name": "no"}
    assert asked["Cmd"] == []


def test_labels_tell_whose_it_is():
    labels = body(BOX, replace(MAKING, labels={"dev.bascule.owner": "o-1"}))["Labels"]

    assert labels == {
        "dev.bascule.owner": "o-1",
        "dev.bascule.server": "files",
        "dev.bascule.lane": "sealed",
        "dev.bascule.principal": "f00",
    }


@pytest.mark.parametrize(("userns", "asked"), [("", None), ("host", "host")])
def test_users_are_numbered_as_the_engine_does_unless_that_would_make_them_others(userns: str, asked: str | None):
    assert host(making=replace(MAKING, userns=userns)).get("UsernsMode") == asked
