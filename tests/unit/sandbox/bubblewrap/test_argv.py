"""What bubblewrap is told."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.bubblewrap.argv import JOIN, MOUNT, OVERLAY, Site, Tools, bwrap_argv, limits, network_script
from bascule.sandbox.spec.box import Bounds, Box, Link, MaskedPath, Mount

BOX = Box(
    name="b-1",
    server="files",
    lane=Lane.SEALED,
    argv=("/usr/bin/server",),
    env={"TOKEN": "hunter2-hunter2"},
    cwd="/",
    mounts=(Mount("/usr", "/usr"), Mount("/w", "/workspace", writable=True), Mount("/a/b/c", "/a/b/c")),
    bounds=Bounds(memory=5, cpus=1, pids=7, disk=1 << 20),
    links=(Link("/bin", "usr/bin"),),
    masks=(
        MaskedPath("/a/b", folder=True, why="", source="/a/b"),
        MaskedPath("/usr/.env", folder=False, why="", source="/usr/.env"),
    ),
)
PATHS = {
    name: f"/t/{name}" for name in ("sh", "mount", "mkdir", "mkfifo", "cat", "unshare", "bwrap", "pasta", "slirp4netns")
}
TOOLS = Tools(PATHS, masked=("/proc/kcore",))
SITE = Site(
    at="/s/b-1",
    place="/s/place",
    filter="/s/filter",
    empty="/s/empty",
    cgroups=("/c/procs",),
    files={"/etc/passwd": "/s/x"},
)


def told(box: Box = BOX, tools: Tools = TOOLS, site: Site = SITE) -> tuple[str, ...]:
    return bwrap_argv(box, tools, site, ("/first", "{}"))


def has(words: tuple[str, ...], *wanted: str) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def test_a_box_has_nothing_of_this_machine_but_what_it_shows() -> None:
    words = told()
    for wanted in (
        ("--unshare-user",), ("--unshare-ipc",), ("--unshare-pid",), ("--unshare-uts",), ("--unshare-net",),
        ("--disable-userns",), ("--uid", "65532", "--gid", "65532"), ("--cap-drop", "ALL"), ("--die-with-parent",),
        ("--new-session",), ("--seccomp", "3"), ("--ro-bind", "/proc/sys", "/proc/sys"), ("--ro-bind", "/dev/null", "/proc/kcore"),
        ("--remount-ro", "/dev"), ("--remount-ro", "/", "--chdir", "/", "--", "/first", "{}"),
    ):  # fmt: skip
        assert has(words, *wanted), wanted
    assert not has(words, "--share-net")


def test_mounts_links_files_and_masks_are_made_in_their_order() -> None:
    words = told()
    assert has(words, "--symlink", "usr/bin", "/bin")
    assert has(words, "--ro-bind", "/s/x", "/etc/passwd")
    assert has(words, "--ro-bind", "/usr", "/usr")
    assert has(words, "--bind", "/w", "/workspace")
    assert words.index("/a/b") < words.index("/a/b/c")
    assert has(words, "--tmpfs", "/a/b")
    assert has(words, "--ro-bind", "/s/empty", "/usr/.env")
    # A mount inside a masked folder needs a mount point there.
    assert has(words, "--ro-bind", "/a/b/c", "/a/b/c", "--remount-ro", "/a/b")
    assert words.index("/tmp") < words.index("/usr")


def test_overlays_are_mounted_in_the_user_namespace_or_by_root_before_it() -> None:
    site = replace(SITE, overlays=("/usr", "/proc"), settings="/s/place/own/1/sys")
    words = told(site=site)
    overlaid = (
        "/t/sh",
        "-c",
        OVERLAY,
        "b-1",
        "/t/mount",
        "/t/mkdir",
        "/s/place/own",
        "/s/b-1/shared",
        "2",
        "/usr",
        "/proc",
        "--",
    )
    assert has(words, "/t/unshare", "-r", "-m", "--", "/t/sh", "-c", MOUNT)
    assert has(words, *overlaid, "/t/bwrap")
    assert has(words, "--ro-bind", "/s/place/own/1/sys", "/proc/sys")
    words = told(tools=replace(TOOLS, mounts=True), site=site)
    assert has(words, "/t/unshare", "-m", "--", "/t/sh", "-c", MOUNT)
    assert has(words, *overlaid, "/t/unshare", "-r", "--", "/t/bwrap")


def test_without_overlays_no_namespace_is_made_before_that_of_the_user() -> None:
    words = told(tools=replace(TOOLS, mounts=True))
    assert has(words, "/t/unshare", "-r", "-m", "--")
    assert OVERLAY not in words


def test_devices_and_masks_are_those_of_the_sandbox_where_it_has_its_own() -> None:
    words = told(site=replace(SITE, devices="/s/b-1/dev", settings=""))
    assert has(words, "--dev-bind", "/s/b-1/dev/null", "/dev/null")
    assert has(words, "--ro-bind", "/s/b-1/dev/null", "/proc/kcore")
    assert words.index("/dev/shm") < words.index("/dev/tty") < words.index("--remount-ro")
    assert "/proc/sys" not in words


def test_no_variable_of_the_server_is_in_the_command() -> None:
    assert not any("hunter2" in word or "--setenv" in word for word in told())


def test_what_can_be_written_to_is_as_large_as_the_box_may_fill() -> None:
    assert "size=1048576,nr_inodes=1024,mode=0755,nosuid,nodev" in told()
    bigger = replace(BOX, bounds=replace(BOX.bounds, disk=1 << 30))
    assert "size=1073741824,nr_inodes=262144,mode=0755,nosuid,nodev" in told(bigger)


def test_a_process_joins_its_cgroups_before_all_else() -> None:
    assert told()[:7] == ("/t/sh", "-c", JOIN, "b-1", "/s/b-1/pid", "/c/procs", "--")


def test_a_network_of_its_own_is_made_outside_and_entered() -> None:
    for kind in ("pasta", "slirp4netns"):
        words = told(site=replace(SITE, network=kind))
        assert has(words, "/t/mkfifo", f"/t/{kind}", "/s/b-1", "/t/unshare", "-r", "-m", "-n", "--")
        assert not has(words, "--unshare-net")


def test_the_host_s_network_is_entered_only_by_its_name() -> None:
    words = told(site=replace(SITE, network="host"))
    assert has(words, "/t/unshare", "-r", "-m", "--")
    assert not has(words, "--unshare-net")


def test_nothing_of_this_machine_is_reached_through_a_network_of_the_box() -> None:
    pasta = network_script("pasta", root=False)
    assert all(option in pasta for option in ("--no-map-gw", "--tcp-ns none", "--udp-ns none", "--tcp-ports none"))
    assert "--runas" not in pasta
    assert "--runas 0" in network_script("pasta", root=True)
    assert "--disable-host-loopback" in network_script("slirp4netns", root=True)


def test_an_older_bubblewrap_is_not_asked_for_what_it_does_not_know() -> None:
    assert not has(told(tools=replace(TOOLS, disables_userns=False)), "--disable-userns")


def test_without_cgroups_each_process_is_held_by_limits() -> None:
    assert limits(BOX, bounded=True) == {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 1 << 20}
    assert limits(BOX, bounded=False).items() >= {"RLIMIT_DATA": 5, "RLIMIT_NPROC": 7}.items()


def run_script(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", script, "b", *args], capture_output=True, text=True, check=False, timeout=20
    )


def test_who_cannot_join_never_starts(tmp_path: Path) -> None:
    ended = run_script(JOIN, f"{tmp_path}/pid", f"{tmp_path}/no/such/cgroup", "--", "/bin/echo", "ran")
    assert (ended.returncode, ended.stdout) != (0, "ran\n")
    assert "ran" not in ended.stdout
    joined = run_script(JOIN, f"{tmp_path}/pid", f"{tmp_path}/cgroup", "--", "/bin/echo", "ran", "a b", "$(x)")
    assert (joined.returncode, joined.stdout) == (0, "ran a b $(x)\n")
    assert (tmp_path / "cgroup").read_text() == "0\n"
    assert int((tmp_path / "pid").read_text()) > 0


def test_who_cannot_mount_never_starts(tmp_path: Path) -> None:
    ended = run_script(
        MOUNT, "/bin/false", "/bin/mkdir", "/bin/cat", str(tmp_path), "o", "/dev/null", "", "/bin/echo", "ran"
    )
    assert (ended.returncode, ended.stdout) == (96, "")


def test_who_gets_no_network_never_starts(tmp_path: Path) -> None:
    at = tmp_path / "b-1"
    at.mkdir()
    for name in ("there", "ready"):
        os.mkfifo(f"{at}/{name}")
    Path(f"{at}/log").write_text("no interface\n")
    answering = subprocess.Popen(["/bin/sh", "-c", 'read -r x <"$1/there"; echo >"$1/ready"', "b", str(at)])
    with answering:
        ended = run_script(
            MOUNT, "/bin/true", "/bin/true", "/bin/cat", str(tmp_path), "o", "/dev/null", str(at), "/bin/echo", "ran"
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (96, "", "no interface\n")


@pytest.mark.parametrize("kind", ["pasta", "slirp4netns"])
def test_scripts_are_understood_by_every_shell(kind: str) -> None:
    for script in (JOIN, MOUNT, OVERLAY, network_script("pasta" if kind == "pasta" else "slirp4netns", root=True)):
        assert subprocess.run(["/bin/sh", "-n", "-c", script], check=False, timeout=20).returncode == 0
