"""Paths of the host that a sandbox's layout needs: home, working and state folder, Python, and the entry program."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bascule.config.state_dir import state_folder

INSIDE = str(Path(__file__).parents[1] / "inside")
"""The folder with what runs inside a box before the server."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Paths of this machine, each of them whole."""

    home: str
    """Of whoever runs us: what `~` stands for."""
    here: str
    """The folder we were started in. A command without one of its own is looked at from here."""
    state: str
    """Where our keys and records are. No box ever shows it."""
    python: str
    """Our own Python, by its real path: it runs the first program in a box."""
    inside: str = INSIDE
    decoys: str = ""
    """The folder with the FIFO and the socket by which private lanes are proven. Empty: there is none."""
    config: tuple[str, ...] = ()
    """The files that the runtime loaded its configuration from. A sandbox shows them only if `mounts` names them."""


def this_machine(environ: Mapping[str, str]) -> Machine:
    state = state_folder(environ)
    return Machine(
        home=environ.get("HOME", "") or str(Path.home()),
        here=_here(),
        state=os.path.realpath(state),
        python=os.path.realpath(sys.executable),
    )


def _here() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # a folder that was removed has no path
        return "/"
