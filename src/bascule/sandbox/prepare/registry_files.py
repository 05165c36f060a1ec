"""Which files of this machine say where packages come from."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.package_registries import Registries
from bascule.sandbox.prepare.registry_files__npm_registries import npm_registries
from bascule.sandbox.prepare.registry_files__python_registries import pip_registries, uv_registries
from bascule.sandbox.process.child import Command

LONGEST = 1024 * 1024
"""Bytes of a file with settings. They have a few lines."""


def registries_of(fetcher: Fetcher, command: Command, environ: Mapping[str, str]) -> Registries:
    """As whoever fetches would find them: in files, in our variables, and in what the server is configured with."""
    said = {**environ, **command.env}
    home = Path(said.get("HOME") or "/")
    config = Path(said.get("XDG_CONFIG_HOME") or home / ".config")
    match fetcher.tool:
        case "npm":
            return npm_registries(_texts(_npm_files(fetcher, command, said, home)), said)
        case "uv":
            own = said.get("UV_CONFIG_FILE")
            files = (Path(own),) if own else (Path("/etc/uv/uv.toml"), config / "uv/uv.toml")
            return uv_registries(_texts(files), said)
        case "pip":
            files = (Path("/etc/pip.conf"), home / ".pip/pip.conf", config / "pip/pip.conf")
            own = said.get("PIP_CONFIG_FILE")
            return pip_registries(_texts((*files, Path(own)) if own else files), said)


def _npm_files(fetcher: Fetcher, command: Command, said: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    lowered = {name.lower(): value for name, value in said.items()}
    everybody = lowered.get("npm_config_globalconfig") or Path(fetcher.interpreter).parent.parent / "etc/npmrc"
    own = lowered.get("npm_config_userconfig") or home / ".npmrc"
    project = (Path(command.cwd, ".npmrc"),) if command.cwd else ()
    return (Path(everybody), Path(own), *project)


def _texts(files: tuple[Path, ...]) -> Iterator[str]:
    for path in files:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                yield file.read(LONGEST).decode("utf-8", "replace")
        except OSError:
            # Most machines have few of these. One that we may not read is none that fetching could depend on.
            continue
