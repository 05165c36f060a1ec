"""Denylist of mounts: folders that are too wide to be mounted for one file in them, and folders that only the
operator's `mounts` can show."""

from pathlib import PurePath

from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.spec.box import HOME, HOUSE, WORKSPACE

HOMES = ("/home", "/Users")
"""Every folder in these is somebody's home."""

WIDE = frozenset({
    *("/", "/home", "/Users", "/root", "/tmp", "/var", "/etc", "/usr", "/boot", "/run", "/nix", "/snap"),  # noqa: S108 -- none is written to
    *("/var/tmp", "/var/lib", "/var/run", "/var/cache", "/var/log", "/usr/local"),  # noqa: S108
})  # fmt: skip
"""Folders that hold everything: many programs' files, and many people's."""

WIDE_IN_HOME = frozenset({".local", ".local/share", ".local/state", ".config", ".cache"})

CROWDED = frozenset({"/opt", "/srv", "/mnt", "/media"})
"""Folders that a person may mean when naming them, but that are no program's own."""

CROWDED_IN_HOME = frozenset({
    *("bin", ".local/bin", ".local/lib", "Desktop", "Documents", "Downloads", "src", "code", "projects"),
})  # fmt: skip

SYSTEM_S_OWN = ("/proc", "/sys", "/dev", "/run", "/var/run", "/boot")
"""Doors to the machine itself: devices, settings, and the sockets of whatever runs here."""

BOX_S_OWN = (WORKSPACE, HOME, HOUSE)
"""What these are called inside has nothing to do with what is there outside."""

MADE_FOR_THE_BOX = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf")

REMOVABLE = "/run/media"


def below(path: str, folder: str) -> bool:
    """Whether a path is the folder, or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def too_wide(path: str, machine: Machine) -> bool:
    """Whether this is never shown as a whole unless an operator says so under `mounts`."""
    home = PurePath(machine.home)
    return (
        path in WIDE
        or str(PurePath(path).parent) in HOMES
        or below(str(home), path)
        or any(path == str(home / part) for part in WIDE_IN_HOME)
    )


def crowded(path: str, machine: Machine) -> bool:
    """Whether this is no folder of one program, so that what is needed of it is shown alone."""
    homes = (PurePath(machine.home), *(home for home in PurePath(path).parents if str(home.parent) in HOMES))
    return (
        too_wide(path, machine)
        or path in CROWDED
        or any(path == str(home / part) for home in homes for part in (*CROWDED_IN_HOME, *WIDE_IN_HOME))
    )


def forbidden(path: str, machine: Machine) -> bool:
    """Whether this is never shown on account of what stands in a command."""
    if below(path, machine.state):
        return True
    if below(path, REMOVABLE):
        return path == REMOVABLE
    return any(below(path, folder) for folder in (*SYSTEM_S_OWN, *BOX_S_OWN, *MADE_FOR_THE_BOX))
