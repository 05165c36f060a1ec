"""Translation of OS errors into messages for agents, never with a path of the host."""

import errno

from bascule.core.errors import NoRoom, PathRefused, WorkspaceError
from bascule.workspace.virtual_paths import shown

_WORDS = {
    errno.ENOENT: ("was not found", "list the folder to see what is there"),
    errno.EEXIST: ("exists already", "use another name, or delete it first"),
    errno.EISDIR: ("is a folder", "name a file in it"),
    errno.ENOTDIR: ("is no folder, or lies below something that is none", "list the folders above it"),
    errno.ENOTEMPTY: ("is a folder that is not empty", "delete what is in it first"),
    errno.EINVAL: ("cannot be put there", "a folder cannot be moved into itself"),
    errno.EAGAIN: ("keeps changing while it is looked at", "try again when whoever changes it is done"),
    errno.EBUSY: ("is in use", "try again later"),
    errno.EACCES: ("may not be touched", "whoever made it has closed it to others"),
    errno.EPERM: ("may not be touched", "whoever made it has closed it to others"),
    errno.EROFS: ("lies on a disk that cannot be written", "an operator has to mount it for writing"),
    errno.EMFILE: ("could not be opened: too many files are open", "close files that are no longer used"),
    errno.ENFILE: ("could not be opened: too many files are open", "close files that are no longer used"),
    errno.EIO: ("could not be read or written: the disk failed", "an operator has to look at the disk"),
}

_REFUSED = {
    errno.ELOOP: ("leads through symbolic links that go round, or keep changing", "name the file itself"),
    errno.EXDEV: ("lies on another disk that is mounted there", "use a folder of the workspace itself"),
    errno.ENXIO: ("is no file, but a pipe, a socket or a device", "delete it, or use another name"),
    errno.ENODEV: ("is no file, but a pipe, a socket or a device", "delete it, or use another name"),
    errno.ENAMETOOLONG: ("has too long a name", "use shorter names, or fewer folders"),
}

_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota of this machine's user is used up",
    errno.EFBIG: "the file would become larger than this system allows",
}


def told(error: OSError, key: str) -> WorkspaceError:
    """The failure to raise for this one, when this one is no longer being dealt with: nothing hangs on then."""
    number = error.errno or 0
    name, evidence = shown(key), errno.errorcode.get(number, "unknown")
    if number in _FULL:
        return NoRoom(
            f"no room for {name}: {_FULL[number]}", where=name, evidence=evidence, fix="delete what is not needed"
        )
    if number in _REFUSED:
        words, fix = _REFUSED[number]
        return PathRefused(f"{name} {words}", where=name, evidence=evidence, fix=fix)
    words, fix = _WORDS.get(number, ("could not be used", "try again; if it stays so, an operator has to look"))
    return WorkspaceError(f"{name} {words}", where=name, evidence=evidence, fix=fix)


def linked_out(key: str) -> PathRefused:
    return PathRefused(
        f"{shown(key)} leads out of the workspace by a symbolic link",
        where=shown(key),
        fix="delete the link, or name a file inside",
    )


def undone_file(key: str) -> WorkspaceError:
    return WorkspaceError(
        f"nothing was written to {shown(key)}: the call that opened it was undone",
        where=shown(key),
        cause="the call failed, or was given up, while the file was open",
        fix="open the file again in another call",
    )


def lost_write(key: str) -> WorkspaceError:
    return WorkspaceError(
        f"a write to {shown(key)} is lost: the file that was open is no longer in the workspace",
        where=shown(key),
        cause="another call replaced or deleted the file while this one wrote to it",
        fix="open the file again, and write once more",
    )


def no_file(key: str, what: str) -> PathRefused:
    return PathRefused(
        f"{shown(key)} is no file of the workspace alone: it is {what}",
        where=shown(key),
        fix="delete it, or use another name",
    )
