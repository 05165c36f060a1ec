"""Servers of one agent from environment variables: `AGENT_<Name>_MCP_<N>_CMD` and its siblings.

Tools must be allowed by name: without `ALLOW`, an agent sees none of the server's tools."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from bascule.config.model.runtime_config import ServerConfig, Timeouts
from bascule.config.model.transport import StdioTransport
from bascule.config.problems import config_error, did_you_mean
from bascule.config.validation import Flaw, credential_flaws, name_flaws, seconds_flaws, stdio_flaws
from bascule.core.errors import UsageError
from bascule.core.json_types import is_array, is_object

_FIELDS = ("CMD", "ARGS", "CWD", "ENV_JSON", "ALLOW", "BLOCK", "INIT_TIMEOUT_SECONDS", "NAME")

_VARIABLE_OF = {
    "command": "CMD",
    "args": "ARGS",
    "cwd": "CWD",
    "env": "ENV_JSON",
    "name": "NAME",
    "connect": "INIT_TIMEOUT_SECONDS",
}
"""The variable that each value of the model comes from."""

_NUMBERED = re.compile(r"(?P<index>0|[1-9][0-9]{0,5})_(?P<field>\w+)")


@dataclass(slots=True)
class _Source:
    """The variables of one server, and the problems of all."""

    prefix: str
    index: int
    fields: dict[str, str]
    problems: list[str] = field(default_factory=list[str])

    def blame(self, variable: str, text: str) -> None:
        self.problems.append(f"{self.prefix}{self.index}_{variable}: {text}")


def load_agent_mcp_configs(agent: str, environ: Mapping[str, str] | None = None) -> tuple[ServerConfig, ...]:
    """The agent's servers in the order of their numbers; none if no variable names one."""
    if not agent or not agent.isprintable() or "=" in agent:
        raise UsageError(
            "an agent's name must be text without =", fix="pass the name that stands in AGENT_<Name>_MCP_0_CMD"
        )
    prefix = f"AGENT_{agent}_MCP_"
    problems: list[str] = []
    sources = _sources(prefix, os.environ if environ is None else environ, problems)
    servers = [server for source in sources if (server := _server(source)) is not None]
    problems.extend(chain.from_iterable(source.problems for source in sources))
    problems.extend(_doubled(prefix, servers))
    if problems:
        raise config_error("the environment", tuple(problems))
    return tuple(servers)


def _sources(prefix: str, environ: Mapping[str, str], problems: list[str]) -> list[_Source]:
    numbered: dict[int, dict[str, str]] = {}
    for name in sorted(environ):
        if not name.startswith(prefix):
            continue
        found = _NUMBERED.fullmatch(name.removeprefix(prefix))
        if found is None or found["field"] not in _FIELDS:
            hint = did_you_mean(found["field"], _FIELDS) if found else ""
            problems.append(f"{name}: unknown; after {prefix}<number>_ comes one of {', '.join(_FIELDS)}{hint}")
        else:
            numbered.setdefault(int(found["index"]), {})[found["field"]] = environ[name]
    gap = next((index for index, taken in enumerate(sorted(numbered)) if index != taken), None)
    if gap is not None:
        problems.append(f"{prefix}{gap}_CMD: not set, though higher numbers are; count from 0 without a gap")
    return [_Source(prefix, index, fields) for index, fields in sorted(numbered.items())]


def _server(source: _Source) -> ServerConfig | None:
    values: dict[str, Any] = {
        "command": source.fields.get("CMD", ""),
        "args": _args(source),
        "cwd": source.fields.get("CWD") or None,
        "env": _env(source),
        "inherit_env": (),
    }
    name = source.fields.get("NAME") or f"mcp{source.index}"
    connect = _seconds(source)
    for flaw in chain(
        name_flaws(name), stdio_flaws(**values), credential_flaws(values["args"]), seconds_flaws("connect", connect)
    ):
        source.blame(_VARIABLE_OF[str(flaw.path[0])], _told(flaw))
    if source.problems:
        return None
    return ServerConfig(
        name=name,
        transport=StdioTransport(**values),
        allow=_names(source.fields.get("ALLOW", "")),
        block=_names(source.fields.get("BLOCK", "")),
        timeouts=Timeouts(connect=connect),
        location=f"{source.prefix}{source.index}_CMD",
    )


def _told(flaw: Flaw) -> str:
    inner = ".".join(str(part) for part in flaw.path[1:])
    return f"{inner}: {flaw.text}" if inner else flaw.text


def _args(source: _Source) -> tuple[str, ...]:
    """Split at commas; as JSON where an argument holds a comma, or is empty."""
    text = source.fields.get("ARGS", "")
    if not text.lstrip().startswith("["):
        return _names(text)
    value = _json(text)
    if is_array(value) and all(isinstance(item, str) for item in value):
        return tuple(value)
    source.blame("ARGS", 'must be a JSON array of texts, such as ["-y", "package"]')
    return ()


def _env(source: _Source) -> dict[str, str]:
    text = source.fields.get("ENV_JSON", "")
    value = _json(text if text.strip() else "{}")
    if is_object(value) and all(isinstance(item, str) for item in value.values()):
        return value
    # Not even the place of a mistake is told: all of this text is secret.
    source.blame("ENV_JSON", 'must be a JSON object of texts, each name once, such as {"KEY": "value"}')
    return {}


def _seconds(source: _Source) -> float:
    text = source.fields.get("INIT_TIMEOUT_SECONDS", "").strip()
    try:
        return float(text) if text else Timeouts().connect
    except ValueError:
        return 0  # refused like any other time that is none


def _names(text: str) -> tuple[str, ...]:
    return tuple(stripped for item in text.split(",") if (stripped := item.strip()))


def _json(text: str) -> Any:
    """The value, or nothing if it is not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _doubled(prefix: str, servers: list[ServerConfig]) -> Iterator[str]:
    taken: set[str] = set()
    for server in servers:
        if server.name in taken:
            yield f'{server.location.removesuffix("CMD")}NAME: "{server.name}" is taken by another server of {prefix}*'
        taken.add(server.name)
