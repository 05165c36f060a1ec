"""Completion of server and tool names, from the config and from the last listings in the state database. Starts no
server."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing

from bascule.catalog.naming import exposed_names
from bascule.config.loading.load import load_file
from bascule.config.locate import find
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import state_folder
from bascule.core.errors import BasculeError
from bascule.files.regular_file import check_database

Name = tuple[str, str]


def names_for(word: str, config: str | None, current: str) -> list[Name]:
    """The names that an argument takes whose word in the help is this. Where the config cannot be read there are none:
    a shell is no place to say why."""
    kind = {"SERVER[/TOOL]": "SERVER/TOOL" if "/" in current else "SERVER"}.get(word, word)
    if kind not in {"SERVER", "OWN_SERVER", "TOOL", "SERVER|TOOL", "SERVER/TOOL"}:
        return []
    try:
        path = find(config, os.environ)
        loaded = load_file(path, os.environ) if path is not None else RuntimeConfig({})
    except (BasculeError, OSError):
        return []
    return [*_names(kind, loaded)]


def _names(kind: str, config: RuntimeConfig) -> Iterator[Name]:
    if kind == "OWN_SERVER":
        yield from ((name, "server of your own") for name in config.kit_servers)
    if kind in {"SERVER", "SERVER|TOOL"}:
        yield from ((name, "server") for name in config.servers)
    if kind in {"TOOL", "SERVER|TOOL", "SERVER/TOOL"}:
        for server, tools in _listed(config).items():
            if kind == "SERVER/TOOL":
                yield from ((f"{server}/{tool}", "tool") for tool in tools)
            else:
                prefix = config.servers[server].tool_prefix
                yield from ((name, f"tool of {server}") for name in exposed_names(server, prefix, tools).values())


def _listed(config: RuntimeConfig) -> dict[str, list[str]]:
    """The tools that each server listed when it was last asked, by its own names for them."""
    listed: dict[str, list[str]] = {}
    file = state_folder(os.environ) / "bascule.db"
    if config.path is None or not file.is_file():
        return listed
    try:
        check_database(file)
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=0.05)) as database:
            rows = database.execute(
                "SELECT DISTINCT server, tool FROM tool_digests WHERE home = ? ORDER BY server, tool",
                (str(config.path.absolute()),),
            ).fetchall()
    except (sqlite3.Error, OSError):
        return listed
    for server, tool in rows:
        if server in config.servers:
            listed.setdefault(server, []).append(tool)
    return listed
