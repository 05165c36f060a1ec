"""Location of the config file: `--config`, the variable `BASCULE_CONFIG`, or the first known name in the working
folder."""

from collections.abc import Mapping
from pathlib import Path

from bascule.core.errors import ConfigError

VARIABLE = "BASCULE_CONFIG"
CANDIDATES = ("bascule.yaml", "bascule.yml", ".mcp.json", ".vscode/mcp.json", "mcp.json")
"""Looked for in this order, and only in the working folder: a file further up may be anybody's."""

_MAKE_ONE = (
    "run `bascule import` for the servers that other programs have, or `bascule add NAME -- COMMAND` for a first one; "
    "or name a file with --config"
)


def locate(named: str | Path | None, environ: Mapping[str, str], cwd: Path | None = None) -> Path:
    """The file to load. `named` is what the command line says."""
    cwd = cwd or Path.cwd()
    found = find(named, environ, cwd)
    if found is None:
        raise ConfigError(
            f"no configuration found in {cwd}",
            problems=(f"looked for {', '.join(CANDIDATES)}; neither --config nor ${VARIABLE} names a file",),
            where=str(cwd),
            fix=_MAKE_ONE,
        )
    return found


def find(named: str | Path | None, environ: Mapping[str, str], cwd: Path | None = None) -> Path | None:
    """The same for what needs no config. One that is named must be there."""
    cwd = cwd or Path.cwd()
    if named is not None:
        return _existing(cwd / named, "--config")
    if variable := environ.get(VARIABLE):
        return _existing(cwd / variable, f"${VARIABLE}")
    return next((cwd / name for name in CANDIDATES if (cwd / name).exists()), None)


def loaded_files(path: Path) -> tuple[Path, Path]:
    """The files that a configuration is loaded from: the config file, and the variables beside it."""
    return path, path.parent / ".env"


def _existing(path: Path, origin: str) -> Path:
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ConfigError(f"{path}, named by {origin}, {what}", where=str(path), fix=_MAKE_ONE)
    return path
