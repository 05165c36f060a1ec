"""What activating the environment does to a shell: its programs are found first."""

import os
from pathlib import Path

from support import warm
from support.command import BASCULE


def activated(*more: Path) -> dict[str, str]:
    """`bascule` and `python` are the warm ones, all else of the environment is as it lies there. `more` comes behind. In a
    box nothing of this machine is warm, nor is the folder of the warm ones there: what starts boxes needs `BASCULE`."""
    folders = (warm.bascule().parent, BASCULE.parent, *more)
    return {"PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}
