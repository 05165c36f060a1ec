"""A program that changes what names in a folder mean, as fast as it can: `flipper.py ROLE FILES OUTSIDE SECONDS`."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def folders(files: Path, outside: Path) -> None:
    """`d` is a folder, then a link to one outside, then the folder again; `f` a file, then a link to one."""
    (files / "d").rename(files / "d.real")
    (files / "d").symlink_to(outside)
    (files / "link.f").symlink_to(outside / "secret.txt")
    (files / "link.f").rename(files / "f")
    (files / "d").unlink()
    (files / "d.real").rename(files / "d")
    (files / "plain.f").write_text("inside")
    (files / "plain.f").rename(files / "f")


def hard_links(files: Path, outside: Path) -> None:
    """`h` is a file from outside by a second name, and then nothing again."""
    os.link(outside / "secret.txt", files / "h")
    (files / "h").unlink()
    os.link(outside / "secret.txt", files / "link.h")
    (files / "link.h").rename(files / "h")
    (files / "h").unlink()


ROLES: dict[str, Callable[[Path, Path], None]] = {"folders": folders, "hard_links": hard_links}


def main(role: str, files: Path, outside: Path, seconds: float) -> None:
    ends = time.monotonic() + seconds
    print("ready", flush=True)
    while time.monotonic() < ends:
        # The other side makes and deletes the same names.
        with suppress(OSError):
            ROLES[role](files, outside)
    for name in ("d", "f", "h", "link.f", "link.h"):
        if (files / name).is_symlink() or (role == "hard_links" and name in {"h", "link.h"}):
            (files / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
