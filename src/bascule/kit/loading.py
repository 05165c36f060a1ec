"""Loader of a kit server from its author's Python file. Separate from the command that uses it: only the kit may import
FastMCP."""

import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from fastmcp import FastMCP

from bascule.core.errors import ConfigError
from bascule.kit.server import GovernedServer

FIX = "make it with `mcp = create_mcp_server(…)` at the top level of the file"


def load_server(file: Path) -> GovernedServer:
    """The one server that the file makes. Raises `ConfigError`."""
    values = {id(value): value for value in vars(_run(file)).values()}.values()
    servers = [value for value in values if isinstance(value, GovernedServer)]
    if len(servers) == 1:
        return servers[0]
    if servers:
        names = ", ".join(repr(server.name) for server in servers)
        raise ConfigError(f"{file} makes several servers: {names}", fix="keep one of them in the file")
    if any(isinstance(value, FastMCP) for value in values):
        raise ConfigError(f"{file} makes its server with FastMCP itself, so nobody would be known there", fix=FIX)
    raise ConfigError(f"{file} makes no server", fix=FIX)


def _run(file: Path) -> ModuleType:
    spec = spec_from_file_location(f"bascule_target_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ConfigError(f"{file} is no Python file", fix="name the file that makes the server as `target`")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    # What lies beside it can be imported, as if it were run by itself.
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise ConfigError(
            f"{file} cannot be loaded: {type(error).__name__}: {error}",
            where=f"{last.filename}:{last.lineno}",
            fix=f"run `python {file}` to see all of it",
        ) from error
    return module
