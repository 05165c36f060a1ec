"""Draft of an upstream server, between file and model: fills variables, validates values, and chooses the transport."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bascule.config.credential_detection import ADVICE, names_credential
from bascule.config.loading.entries import Entry, fill_entry, read_values
from bascule.config.loading.key_table import KIT_SERVER_KEYS, SERVER_KEYS
from bascule.config.model.kit_server import told_flaws
from bascule.config.model.link_settings import Heartbeat, Limits, Restart, heartbeat_flaws, lifetime_flaws
from bascule.config.model.oauth import OAuthSettings, oauth_flaws
from bascule.config.model.result_presets import PRESETS, Preset, limit_flaws
from bascule.config.model.runtime_config import ServerConfig, Timeouts
from bascule.config.model.sandbox import NONE, Sandbox, host_paths, sandbox_flaws
from bascule.config.model.transport import ContainerTransport, NoTransport, StdioTransport, Transport
from bascule.config.model.transport_choice import remote_flaws, remote_kind, remote_transport
from bascule.config.model.trust import level_named, permission_flaws, raises_flaws, trust_flaws, vouched_flaws
from bascule.config.model.twin import isolated_flaws, isolated_transport
from bascule.config.problems import KeyPath, Problems, dotted
from bascule.config.urls import is_in_clear, scheme_of
from bascule.config.validation import (
    Flaw,
    container_flaws,
    credential_flaws,
    exposure_flaws,
    headers_command_flaws,
    idempotent_flaws,
    stdio_flaws,
)
from bascule.config.variables import FromVariable, Missing
from bascule.core.errors import ConfigError
from bascule.core.sensitivity import DataSensitivity

_OAUTH_KEYS = ("oauth.client_id", "oauth.client_secret", "oauth.scopes")

_STDIO_KEYS = ("command", "args", "cwd", "env", "inherit_env")

_ONLY_WITH = {
    "command": (*_STDIO_KEYS[1:], "container", "sandbox"),
    "url": ("headers", "headers_command", "transport", *_OAUTH_KEYS),
}
"""Keys that mean something only for a server reached one way."""

_KEY_OF = {
    "allow": "tools.allow",
    "block": "tools.block",
    "interval": "heartbeat.interval",
    "stale_after": "heartbeat.stale_after",
    **{key.partition(".")[2]: key for key in _OAUTH_KEYS},
}
"""Where the file's name for a thing is not the model's."""


@dataclass(slots=True)
class Draft:
    """What a file says of one server, sorted by our keys."""

    name: str
    path: KeyPath
    entry: Entry
    foreign: bool
    """Whether the file was written for another program. What such a file says that we cannot use refuses that server
    only: the others should go on, and the file is not ours to change."""
    kind: str | None = None
    """The way to reach it, where a foreign file names one."""
    notes: list[str] = field(default_factory=list[str])
    refusals: list[str] = field(default_factory=list[str])
    """Why this server alone cannot be used, each told with its place."""
    fix: str = ""

    def refuse(self, told: str, fix: str = "") -> None:
        self.refusals.append(told)
        self.fix = self.fix or fix


def make_server(
    draft: Draft, environ: Mapping[str, str], problems: Problems, presets: Mapping[str, Preset] = PRESETS
) -> ServerConfig | None:
    """The server, usable or refused on its own; nothing if the file has to be corrected first."""
    draft.entry, missing = fill_entry(draft.entry, environ)
    for each in missing:
        draft.refuse(problems.told(each.path, each.told), each.fix)
    for key in KIT_SERVER_KEYS:
        _stray(draft, key, "goes with `type: server`, which this entry does not have", problems)
    values = read_values(SERVER_KEYS, draft.entry, problems)
    for flaw in (*_flaws_of(values), *limit_flaws(values["limit"], presets)):
        if not is_known(_place(draft, flaw), missing, problems):
            problems.add(_place(draft, flaw), flaw.text)
    transport = _transport(draft, values, missing, problems)
    if problems.found:
        return None
    values["limit"] = None if values["limit"] is None else presets[values["limit"]]
    return _server(draft, values, transport, problems)


def _flaws_of(values: dict[str, Any]) -> Iterator[Flaw]:
    """What is wrong with values that were read, however the server is reached."""
    yield from exposure_flaws(prefix=values["prefix"], allow=values["tools.allow"], block=values["tools.block"])
    yield from idempotent_flaws(values["idempotent"])
    yield from lifetime_flaws(lifetime=values["lifetime"], stateless=values["stateless"])
    yield from told_flaws(kit=values["kit"], lifetime=values["lifetime"], headers=values["headers"])
    yield from heartbeat_flaws(values["heartbeat.interval"], values["heartbeat.stale_after"])
    yield from permission_flaws(values["permissions"])
    yield from raises_flaws(values["raises"])
    yield from trust_flaws(values["trust"])
    yield from isolated_flaws(values["url_isolated"], values["command_isolated"], values["headers"])
    has_twin = values["url_isolated"] is not None or values["command_isolated"] is not None
    yield from vouched_flaws(_level(values["vouched"]), has_twin=has_twin)
    for flaw in sandbox_flaws(_table("sandbox", values)):
        yield Flaw((f"sandbox.{flaw.path[0]}", *flaw.path[1:]), flaw.text)


def is_known(path: KeyPath, missing: list[Missing], problems: Problems) -> bool:
    """Whether the value there could not even be read. To say that it is also flawed would be to say it twice."""
    return problems.touch(path) or any(each.path[: len(path)] == path for each in missing)


def _server(draft: Draft, values: dict[str, Any], transport: Transport, problems: Problems) -> ServerConfig:
    located = location_of(draft, problems)
    return ServerConfig(
        name=draft.name,
        transport=transport,
        prefix=values["prefix"],
        allow=None if values["tools.allow"] is None else _whole(values["tools.allow"]),
        block=_whole(values["tools.block"]),
        render=values["render"],
        limit=values["limit"],
        timeouts=Timeouts(**_table("timeouts", values)),
        era=values["era"],
        required=values["required"],
        headers_command=None if isinstance(transport, NoTransport) else values["headers_command"],
        oauth=_oauth(values) if not isinstance(transport, NoTransport) else OAuthSettings(),
        idempotent=_whole(values["idempotent"]),
        lifetime=values["lifetime"],
        stateless=values["stateless"],
        heartbeat=Heartbeat(**_table("heartbeat", values)),
        restart=Restart(**_table("restart", values)),
        limits=Limits(**_table("limits", values)),
        permissions=values["permissions"],
        trust=values["trust"],
        ask=_whole(values["ask"]),
        raises=values["raises"],
        vouched=_level(values["vouched"]),
        isolated=_isolated(values, transport),
        twin=values["twin"],
        sandbox=_sandbox(draft, values),
        kit=values["kit"],
        location=located,
        notes=tuple(draft.notes),
        unavailable_reason=reason_of(draft, located),
    )


def location_of(draft: Draft, problems: Problems) -> str:
    place = problems.place(draft.path)
    return place if problems.line(draft.path) else f"{place}: {dotted(draft.path)}"


def _level(name: str | None) -> DataSensitivity | None:
    return None if name is None else level_named(name)


def _isolated(values: dict[str, Any], transport: Transport) -> Transport | None:
    if isinstance(transport, NoTransport):
        return None
    return isolated_transport(transport, values["url_isolated"], values["command_isolated"], values["headers"])


def _sandbox(draft: Draft, values: dict[str, Any]) -> Sandbox | Literal["none"] | None:
    """What was asked for. Nothing said is not the same as an empty table: who writes one gets a box, or an error."""
    if "sandbox" not in draft.entry:
        return None
    if values["sandbox"] == NONE:
        return NONE
    table = _table("sandbox", values)
    table["mounts"] = host_paths(table["mounts"])
    return Sandbox(**table)


def _whole(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Without the empty texts that unset variables left; what remains allows no more than was meant."""
    return tuple(pattern for pattern in patterns if pattern)


def _table(table: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values whose keys stand inside one table, by the last words of their names."""
    start = f"{table}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def _oauth(values: dict[str, Any]) -> OAuthSettings:
    return OAuthSettings(**{key.partition(".")[2]: values[key] for key in _OAUTH_KEYS})


def reason_of(draft: Draft, located: str) -> ConfigError | None:
    if not draft.refusals:
        return None
    return ConfigError(
        f"server {draft.name} cannot be used: {draft.refusals[0]}",
        problems=tuple(draft.refusals),
        where=located,
        fix=draft.fix or "correct what is listed; `bascule doctor` checks it",
    )


def _transport(draft: Draft, values: dict[str, Any], missing: list[Missing], problems: Problems) -> Transport:
    way = _way(draft, problems)
    flaws = [flaw for flaw in _way_flaws(way, values) if not is_known(_place(draft, flaw), missing, problems)]
    for flaw in flaws:
        _blame(draft, flaw, problems)
    if way is None or flaws or draft.refusals or problems.found:
        return NoTransport(_kind(draft, way, values))
    if way == "command":
        return _started(values)
    url, headers = values["url"], values["headers"]
    if values["headers_command"] is not None:
        draft.notes.append("its headers are printed by `headers_command`, for each principal its own")
    if (headers or values["headers_command"]) and is_in_clear(url):
        draft.notes.append(
            f"its headers travel unencrypted: the address is {scheme_of(url)}://, and not on this machine"
        )
    return remote_transport(url, headers, values["transport"])


def _started(values: dict[str, Any]) -> Transport:
    """The transport of a server that has a command: here, or in a container."""
    given = {name: values[name] for name in _STDIO_KEYS}
    if values["container"] is None:
        return StdioTransport(**given)
    return ContainerTransport(values["container"], **given)


def _kind(draft: Draft, way: str | None, values: dict[str, Any]) -> str:
    """What the transport would have been."""
    if way == "url" and draft.kind in {None, "http", "sse", "ws"}:
        return remote_kind(values["url"] or "", values["transport"])
    if way == "command" and "container" in draft.entry:
        return ContainerTransport.kind
    return draft.kind or ("stdio" if way == "command" else "http")


def _way(draft: Draft, problems: Problems) -> str | None:
    """`command` or `url`, whichever the server is reached by."""
    ways = [key for key in _ONLY_WITH if key in draft.entry]
    if len(ways) != 1:
        text = "has both `command` and `url`; keep one" if ways else "needs a `command` to start or a `url` to reach"
        _blame(draft, Flaw((), text), problems)
        return None
    for other in _ONLY_WITH.keys() - ways:
        for key in _ONLY_WITH[other]:
            _stray(draft, key, f"goes with `{other}`, but this server has a `{ways[0]}`", problems)
    return ways[0]


def _stray(draft: Draft, key: str, text: str, problems: Problems) -> None:
    if key not in draft.entry:
        return
    if draft.foreign:
        draft.notes.append(f"ignored {key}: it {text}")
    else:
        problems.add(draft.entry[key].path, f"{text}; remove it")


def _way_flaws(way: str | None, values: dict[str, Any]) -> Iterator[Flaw]:
    if way == "url":
        yield from remote_flaws(values["url"], values["headers"], values["transport"])
        yield from headers_command_flaws(
            command=values["headers_command"],
            kind=remote_kind(values["url"] or "", values["transport"]),
            lifetime=values["lifetime"],
            kit=values["kit"],
        )
        client_id, secret, scopes = (values[key] for key in _OAUTH_KEYS)
        yield from oauth_flaws(client_id=client_id, scopes=scopes, secret=secret)
        return
    if way == "command":
        yield from stdio_flaws(**{name: values[name] for name in _STDIO_KEYS})
        yield from _container_flaws(values)
    # One word per argument, however many signs it gives.
    yield from {
        flaw.path: flaw for flaw in (*_variable_flaws(values["args"]), *credential_flaws(values["args"]))
    }.values()


def _container_flaws(values: dict[str, Any]) -> Iterator[Flaw]:
    if values["container"] is None:
        return
    yield from container_flaws(values["container"])
    if values["sandbox"] is not None or any(value != SERVER_KEYS[key].default for key, value in _boxed(values)):
        text = "is of a box that is made for the server; the container that it names instead is not ours to make"
        yield Flaw(("sandbox",), f"{text}; remove it")
    if values["command_isolated"] is not None:
        # Which of the two an operator means cannot be told, and a twin in the same container has its way out.
        text = "would start a process on this machine, and not in the container; use `url_isolated`"
        yield Flaw(("command_isolated",), text)


def _boxed(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in values.items() if key.startswith("sandbox."))


def _variable_flaws(args: tuple[str, ...]) -> Iterator[Flaw]:
    """A variable called a credential is one, whatever its value looks like."""
    for index, arg in enumerate(args):
        named = [name for name in arg.names if names_credential(name)] if isinstance(arg, FromVariable) else []
        if named:
            yield Flaw(("args", index), f"holds {named[0]}, a credential by its name; {ADVICE}")


def _blame(draft: Draft, flaw: Flaw, problems: Problems) -> None:
    path = _place(draft, flaw)
    if draft.foreign:
        draft.refuse(problems.told(path, flaw.text))
    else:
        problems.add(path, flaw.text)


def _place(draft: Draft, flaw: Flaw) -> KeyPath:
    """Where in the file the flaw is: keys of other programs' files stand elsewhere than ours."""
    if not flaw.path:
        return draft.path
    key = str(flaw.path[0])
    given = draft.entry.get(_KEY_OF.get(key, key))
    return (*given.path, *flaw.path[1:]) if given else (*draft.path, *flaw.path)
