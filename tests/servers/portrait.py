"""Prints what a process can see of itself (its environment, open files, group, folder) and stays until end of input."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def open_files() -> list[int]:
    found: list[int] = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one with which the folder itself was read
            os.fstat(int(entry.name))
            found.append(int(entry.name))
    return sorted(found)


def portrait() -> dict[str, Any]:
    return {
        "argv": sys.argv[1:],
        "env": dict(os.environ),
        "files": open_files(),
        "group": os.getpgid(0),
        "session": os.getsid(0),
        "cwd": str(Path.cwd()),
    }


if __name__ == "__main__":
    print(json.dumps(portrait()), flush=True)
    sys.stdin.read()
