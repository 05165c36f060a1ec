"""Path checks that never raise: a path without permission counts as missing, since a sandbox cannot show it either."""

import os
from pathlib import Path


def is_folder(path: str | Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 -- pathlib raises where it may not look


def is_file(path: str | Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 -- the same


def is_there(path: str | Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110 -- the same


def is_link(path: str | Path) -> bool:
    return os.path.islink(path)  # noqa: PTH114 -- the same
