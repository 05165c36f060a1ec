"""What `bascule doctor` finds out about a server that ended at once: whether it was started in the wrong folder."""

import os
from pathlib import Path

from bascule.cli.doctor.check import Insight
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import StdioTransport

_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".jar")


def path_insight(server: ServerConfig, config: Path | None) -> list[Insight]:
    """A script among the arguments that is not where the server looks for it."""
    transport = server.transport
    if not isinstance(transport, StdioTransport):
        return []
    here = Path(transport.cwd or os.curdir).absolute()
    lost = next((arg for arg in transport.args if _is_lost(arg, here)), None)
    if lost is None or not here.is_dir():
        return []
    said = f"`cwd` is {transport.cwd}" if transport.cwd else "`cwd` is not set"
    return [Insight(f"there is no {lost} in {here}", said, _path_fix(lost, here, config))]


def _is_lost(arg: str, here: Path) -> bool:
    return arg.endswith(_SCRIPTS) and not arg.startswith("-") and "://" not in arg and not (here / arg).is_file()


def _path_fix(lost: str, here: Path, config: Path | None) -> str:
    beside = config.parent if config is not None else here
    if beside != here and (beside / lost).is_file():
        return f"set `cwd: {beside}` for this server, or write the whole path: {beside / lost}"
    return "set `cwd` to the folder that has it, or write its whole path"
