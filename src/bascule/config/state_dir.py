"""Where state is kept: levels, keys, records. Outside of every workspace, so that no tool can reach it.

What a server finds in its environment that runs in a box: all that it can know of where it is."""

from collections.abc import Callable, Mapping
from pathlib import Path

from bascule.core.errors import ConfigError

HOME_VARIABLE = "BASCULE_HOME"
WORKSPACES_VARIABLE = "BASCULE_WORKSPACES"
"""Where a runtime tells a server of our kit which folder holds the workspaces, if the config names one."""


def surroundings(folder: Path, workspaces: str | None) -> dict[str, str]:
    """The variables by which a server of our kit finds the same state and workspaces as whoever starts it."""
    found = {HOME_VARIABLE: str(folder)}
    return {**found, WORKSPACES_VARIABLE: str(Path(workspaces).expanduser().absolute())} if workspaces else found


def state_folder(environ: Mapping[str, str], home: Callable[[], Path] = Path.home) -> Path:
    """The folder's path. Nothing is made."""
    chosen = environ.get(HOME_VARIABLE, "")
    if chosen and not chosen.startswith("~/"):
        return Path(chosen).absolute()
    xdg = Path(environ.get("XDG_STATE_HOME", ""))
    # A relative path here is to be passed over, says the specification of these variables.
    if not chosen and xdg.is_absolute():
        return xdg / "bascule"
    return _user_home(environ, home) / (chosen[2:] or ".local/state/bascule")


def _user_home(environ: Mapping[str, str], home: Callable[[], Path]) -> Path:
    try:
        return Path(environ["HOME"]).absolute() if environ.get("HOME") else home()
    except RuntimeError:
        raise ConfigError(
            "there is no home folder to keep state in", fix="set BASCULE_HOME to a folder only you can read"
        ) from None


LANE_VARIABLE = "BASCULE_LANE"
"""What it can reach."""

RAISE_SOCKET_VARIABLE = "BASCULE_RAISE_SOCKET"
"""The socket over which a server of our kit asks how private its agent session is, and raises that. Where it is named,
levels are kept nowhere else."""

WORKSPACE_VARIABLE = "BASCULE_WORKSPACE"
"""The folder with the files of the one agent session that it serves."""
