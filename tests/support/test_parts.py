"""What installs the real parts that tests start, on a machine that has or lacks them. Nothing is installed here."""

import shutil
import subprocess
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[2] / ".ci" / "parts"
THERE = ("bash", "dirname", "mkdir", "tail", "cat")
"""What the script itself is made of."""

USUAL = ("npx", "initdb", "dockerd", "docker", "bwrap", "pasta", "slirp4netns", "ip", "iptables", "pgrep", "zsh")
FURTHER = ("podman", "docker-compose", "chromium", "fish")


class Machine:
    """A machine by what is on its PATH. Its `apt-get` notes what it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = folder / "bin"
        self._bin.mkdir()
        for name in THERE:
            (self._bin / name).symlink_to(shutil.which(name) or name)
        (folder / ".ci").mkdir()
        shutil.copy(PARTS, folder / ".ci" / "parts")

    def has(self, *names: str, does: str = "exit 0") -> None:
        for name in names:
            (self._bin / name).write_text(f"#!/bin/sh\n{does}\n")
            (self._bin / name).chmod(0o755)

    def is_debian(self, does: str = "exit 0") -> None:
        self.has("apt-get", does=f'echo "$@" >>"{self._folder}/asked"; {does}')

    def of_user(self, number: int) -> None:
        self.has("id", does=f"echo {number}")

    def run(self, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
        argv = [str(self._folder / ".ci" / "parts"), *options]
        return subprocess.run(
            argv, env={"PATH": str(self._bin), **env}, check=False, capture_output=True, text=True, timeout=30
        )

    def asked(self) -> list[str]:
        noted = self._folder / "asked"
        return noted.read_text().splitlines() if noted.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.of_user(0)
    return made


def test_where_all_is_there_nothing_is_installed_or_said(machine: Machine):
    machine.is_debian()
    machine.has(*USUAL)
    ran = machine.run()

    assert (ran.returncode, ran.stdout, ran.stderr, machine.asked()) == (0, "", "", [])


def test_root_on_debian_gets_just_what_is_missing(machine: Machine):
    machine.is_debian()
    machine.has(*USUAL)
    for name in ("docker", "zsh"):
        machine._bin.joinpath(name).unlink()
    ran = machine.run()

    assert ran.returncode == 0
    update, install = machine.asked()
    assert update.startswith("update")
    assert install.split()[-2:] == ["docker.io", "zsh"]
    assert "docker.io zsh" in ran.stdout


def test_what_only_long_tests_need_is_installed_for_all_of_them(machine: Machine):
    machine.is_debian()
    machine.has(*USUAL)

    assert machine.run().returncode == 0
    assert machine.asked() == []
    assert machine.run("--all").returncode == 0
    assert machine.asked()[-1].split()[-len(FURTHER) :] == [*FURTHER]


@pytest.mark.parametrize(("user", "debian"), [(1000, True), (0, False)], ids=["nobody", "elsewhere"])
def test_who_cannot_install_is_told_what_is_missing_and_goes_on_but_not_in_ci(
    machine: Machine, user: int, debian: bool
):
    machine.of_user(user)
    if debian:
        machine.is_debian()
    machine.has(*(name for name in USUAL if name != "bwrap"))
    at_home, in_ci = machine.run(), machine.run(CI="true")

    assert (at_home.returncode, in_ci.returncode) == (0, 1)
    assert "bubblewrap" in at_home.stderr
    assert "skipped" in at_home.stderr
    assert "bubblewrap" in in_ci.stderr
    assert machine.asked() == []


def test_what_cannot_be_had_is_told_with_the_words_of_who_should_have_brought_it(machine: Machine):
    machine.is_debian("echo no such mirror >&2; exit 100")
    machine.has(*(name for name in USUAL if name != "zsh"))
    at_home, in_ci = machine.run(), machine.run(CI="true")

    assert (at_home.returncode, in_ci.returncode) == (0, 1)
    assert "no such mirror" in at_home.stderr
    assert "could not be installed: zsh" in in_ci.stderr
