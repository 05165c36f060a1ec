"""State folder (keys, levels, records), outside of every workspace so that no tool can reach it, and the `BASCULE_*`
environment variables that servers get."""

from collections.abc import Callable, Mapping
from pathlib import Path

from bascule.core.errors import ConfigError

HOME_VARIABLE = "BASCULE_HOME"
WORKSPACES_VARIABLE = "BASCULE_WORKSPACES"
"""Folder that holds the workspaces, for kit servers; set if the config names one."""

LANE_VARIABLE = "BASCULE_LANE"
"""Network lane of a server in a sandbox."""

RAISE_SOCKET_VARIABLE = "BASCULE_RAISE_SOCKET"
"""Path of the raise socket, over which a kit server reads and raises the sensitivity level of its agent session. Where
it is set, the level is kept nowhere else. Kit servers of version 0.1.0 connect to it, which private lanes refuse."""

RAISE_DESCRIPTOR_VARIABLE = "BASCULE_RAISE_DESCRIPTOR"
"""File descriptor of a connection to the raise socket, which a kit server in a sandbox inherits."""

WORKSPACE_VARIABLE = "BASCULE_WORKSPACE"
"""Folder with the files of the one agent session that a server in a sandbox serves."""


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
