"""The files of an agent session, given to whoever a server is in its container. Only root can, and has to: it is
somebody else outside."""

import os
import stat
from pathlib import Path


def hand_over(folder: Path, uid: int, gid: int) -> None:
    """Make everything in a folder somebody's own. No link is followed, and a file that has another name elsewhere is
    left alone: it may be more than the agent session's."""
    os.chown(folder, uid, gid, follow_symlinks=False)
    for _, folders, files, inside in os.fwalk(folder, follow_symlinks=False):
        for name in (*folders, *files):
            _give(name, inside, uid, gid)


def _give(name: str, inside: int, uid: int, gid: int) -> None:
    try:
        known = os.stat(name, dir_fd=inside, follow_symlinks=False)
        shared = stat.S_ISREG(known.st_mode) and known.st_nlink > 1
        if not shared and (known.st_uid, known.st_gid) != (uid, gid):
            os.chown(name, uid, gid, dir_fd=inside, follow_symlinks=False)
    except FileNotFoundError:
        pass  # it was removed meanwhile
