"""Which folders are never shown as a whole."""

import pytest

from bascule.sandbox.mounts.denylist import crowded, forbidden, too_wide
from bascule.sandbox.mounts.host import Machine

MACHINE = Machine(
    home="/home/me", here="/home/me/project", state="/home/me/.local/state/bascule", python="/usr/bin/python3"
)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/home",
        "/home/me",
        "/home/you",
        "/root",
        "/tmp",
        "/var",
        "/etc",
        "/usr",
        "/home/me/.local",
        "/home/me/.config",
    ],
)
def test_what_holds_everything_is_too_wide(path: str) -> None:
    assert too_wide(path, MACHINE)
    assert crowded(path, MACHINE)


@pytest.mark.parametrize(
    "path", ["/data", "/home/me/Desktop", "/srv", "/home/me/project", "/tmp/made", "/etc/app.conf"]
)
def test_what_a_person_may_mean_by_naming_it_is_not(path: str) -> None:
    assert not too_wide(path, MACHINE)


@pytest.mark.parametrize(
    "path", ["/home/me/Desktop", "/home/you/Documents", "/home/me/bin", "/srv", "/home/you/.cache"]
)
def test_folders_of_many_things_are_no_program_s_own(path: str) -> None:
    assert crowded(path, MACHINE)


@pytest.mark.parametrize("path", ["/app", "/opt/tool", "/home/me/project", "/home/me/.nvm/versions/node/v22"])
def test_folders_of_one_program_are(path: str) -> None:
    assert not crowded(path, MACHINE)


@pytest.mark.parametrize(
    "path",
    [
        *("/proc/1/environ", "/sys", "/dev/sda", "/run/docker.sock", "/var/run/docker.sock", "/run/media"),
        *("/home/me/.local/state/bascule", "/home/me/.local/state/bascule/keys/mint", "/workspace/a", "/run/bascule"),
        *("/etc/passwd", "/etc/resolv.conf"),
    ],
)
def test_doors_to_the_machine_and_our_own_state_are_never_shown(path: str) -> None:
    assert forbidden(path, MACHINE)


@pytest.mark.parametrize("path", ["/run/media/me/disk", "/data", "/home/me/.local/state"])
def test_nothing_else_is_forbidden(path: str) -> None:
    assert not forbidden(path, MACHINE)
