"""Health checks of listening addresses: gateway, kit servers, dashboard and telemetry. Names the process that occupies
a port."""

import asyncio
import errno
import shlex
import socket
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from bascule.cli.doctor.check import Check, failed
from bascule.cli.serve.dashboard import MISSING, installed
from bascule.config.model.auth import KeySet
from bascule.config.model.gateway import GatewaySettings
from bascule.config.model.kit_server import HOST
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.model.telemetry import TelemetrySettings
from bascule.config.state_dir import state_folder
from bascule.core.errors import BasculeError
from bascule.dashboard.auth.token import NAME, token_of
from bascule.gateway.serve import Door, check_door
from bascule.identity.jwt.from_config import configured_verifier
from bascule.identity.jwt.keys import read_key_set
from bascule.identity.jwt.remote_jwks import fetch_key_set
from bascule.store.secrets.key_files import FOLDER

DASHBOARD = "dashboard"


def dashboard_checks(config: RuntimeConfig, environ: Mapping[str, str]) -> list[Check]:
    """Nothing is made: what has no token yet gets one when it is first served."""
    if not config.dashboard.enabled:
        return [Check(DASHBOARD, "ok", "there is none: `dashboard.enabled` is false")]
    if not installed():
        told, _, fix = MISSING.partition("; ")
        return [Check(DASHBOARD, "ok", told, fix=fix)]
    return [_token_check(config, state_folder(environ)), *_place_checks(config)]


def _token_check(config: RuntimeConfig, state: Path) -> Check:
    path = state / FOLDER / NAME
    if config.dashboard.token is None and not path.is_symlink() and not path.exists():
        return Check(DASHBOARD, "ok", "its token is made when it is first served")
    try:
        return Check(DASHBOARD, "ok", f"its token is {token_of(config.dashboard, state).place}")
    except BasculeError as error:
        fix = f"run `rm {shlex.quote(str(path))}`: the next start makes a new token, and the old one opens nothing"
        return msgspec.structs.replace(failed(DASHBOARD, error), fix=fix)


def _place_checks(config: RuntimeConfig) -> list[Check]:
    host = config.gateway.host
    if _is_loopback(host):
        return []
    told = f"it is served at {host} beside the gateway: whoever reaches that and has the token sees every agent session"
    fix = "set `dashboard: {enabled: false}`, or `gateway.host: 127.0.0.1` behind a proxy that speaks TLS"
    return [Check(DASHBOARD, "warn", told, f"gateway.host: {host}", fix)]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


PROC = Path("/proc")

_LISTENS = "0A"
"""The kernel's number for a socket that waits for connections."""

_INTERPRETERS = ("python", "node", "ruby", "perl", "sh", "bash", "deno", "bun")


class Listener(msgspec.Struct, frozen=True):
    """A process that listens. Of its command only the program is told: what comes after may be a secret."""

    pid: int
    program: str
    ours: bool = False
    """Whether it is a Bascule that serves."""

    def __str__(self) -> str:
        return f"process {self.pid} ({self.program})"


def listener_at(port: int, proc: Path = PROC) -> Listener | None:
    """None where nobody is known to listen: another user's process, say, or another system than Linux."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    for pid in _pids(proc) if wanted else ():
        if wanted.intersection(_open(pid, proc)):
            return _told(pid, proc)
    return None


def _inodes(port: int, proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        for line in _text(proc / "net" / name).splitlines()[1:]:
            words = line.split()
            if len(words) > 9 and words[3] == _LISTENS and words[1].rpartition(":")[2] == f"{port:04X}":
                yield words[9]


def _pids(proc: Path) -> Iterable[int]:
    try:
        return sorted(int(each.name) for each in proc.iterdir() if each.name.isdigit())
    except OSError:
        return ()


def _open(pid: int, proc: Path) -> Iterator[str]:
    folder = proc / str(pid) / "fd"
    try:
        held = [*folder.iterdir()]
    except OSError:
        return
    for each in held:
        try:
            yield str(each.readlink())
        except OSError:
            # It was closed meanwhile.
            continue


def _told(pid: int, proc: Path) -> Listener:
    words = [word for word in _text(proc / str(pid) / "cmdline").split("\0") if word]
    program = Path(words[0]).name if words else _text(proc / str(pid) / "comm").strip() or "unknown"
    script = _script(words[1:]) if program.startswith(_INTERPRETERS) else ""
    ours = "bascule" in {program, script} and bool({"serve", "run", "up"} & set(words))
    return Listener(pid, f"{program} {script}".strip(), ours)


def _script(words: list[str]) -> str:
    """What an interpreter runs: the name of the file, or of the module."""
    if words[:1] == ["-m"] and len(words) > 1:
        return words[1]
    return Path(words[0]).name if words and not words[0].startswith("-") else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


LOOKED_AT = 50
"""Ports after the one that is taken among which a free one is looked for."""


def port_check(subject: str, key: str, host: str, port: int, *, needed: bool = True) -> Check:
    """Whether we can listen there. `key` is what an operator edits; `needed` whether anybody asked for it."""
    trouble = _trouble(host, port)
    if trouble is None:
        return Check(subject, "ok", f"{host}:{port} is free")
    status = "fail" if needed else "warn"
    if trouble.errno == errno.EADDRINUSE:
        return _taken(subject, status, key, (host, port))
    evidence = f"bind {host}:{port}: {trouble.strerror or trouble}"
    if trouble.errno == errno.EACCES:
        fix = f"set `{key}` to a port from 1024 on"
        return Check(subject, status, f"this user may not listen at port {port}", evidence, fix)
    fix = f"set `{key.rpartition('.')[0]}.host` to 127.0.0.1, or to an address of this machine"
    return Check(subject, status, f"{host} is no address of this machine", evidence, fix)


def _taken(subject: str, status: str, key: str, place: tuple[str, int]) -> Check:
    host, port = place
    who = listener_at(port)
    if who is not None and who.ours:
        return Check(subject, "ok", f"a Bascule serves at {host}:{port} already: {who}")
    return Check(
        subject,
        status,
        f"port {port} is taken by another program",
        f"{who or 'a process of another user'} listens at {host}:{port}",
        _ways_out(key, host, port, who),
    )


def _ways_out(key: str, host: str, port: int, who: Listener | None) -> str:
    free = next((near for near in range(port + 1, port + LOOKED_AT) if _trouble(host, near) is None), None)
    told = f"set `{key}: {free}`, which is free" if free is not None else f"set `{key}` to another port"
    return f"{told}; or end the other one: `kill {who.pid}`" if who is not None else told


def _trouble(host: str, port: int) -> OSError | None:
    """Why nobody can listen there. What is bound is let go at once, and never listens."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OverflowError:
        return OSError(errno.EACCES, "there is no such port")
    except OSError as error:
        return error
    return None


SUBJECT = "gateway"


async def gateway_checks(config: RuntimeConfig) -> list[Check]:
    """The gateway's address and keys, and the addresses of our own servers. Nothing is served."""
    settings, default = config.gateway, GatewaySettings()
    place = port_check(SUBJECT, "gateway.port", settings.host, settings.port, needed=settings != default)
    ports = [
        port_check(f"port {name}", f"mcp_servers.{name}.port", HOST, server.port, needed=False)
        for name, server in config.kit_servers.items()
        if server.unavailable_reason is None
    ]
    return [place, *await _key_checks(settings), *ports, *_kit_checks(config)]


def _kit_checks(config: RuntimeConfig) -> list[Check]:
    """Whether our own servers can be started: what is wrong with an entry, and whether its file is there. The file is
    not run: it is its author's, and may do anything."""
    checks: list[Check] = []
    for name, server in config.kit_servers.items():
        if server.unavailable_reason is not None:
            checks.append(failed(f"server {name}", server.unavailable_reason))
            continue
        folder = config.path.parent if config.path is not None else Path.cwd()
        file = (folder / server.target).resolve()
        if not file.is_file():
            told = f"there is no file {file}, so `bascule run {name}` cannot start it"
            evidence = f"{server.location}: target: {server.target}" if server.location else f"target: {server.target}"
            fix = f"correct `target` of {name}, which is looked for from the folder of the config on"
            checks.append(Check(f"server {name}", "fail", told, evidence, fix))
    return checks


async def _key_checks(settings: GatewaySettings) -> list[Check]:
    keys = settings.auth.keys
    if not keys:
        return [] if settings == GatewaySettings() else [_without_keys(settings)]
    sets = await asyncio.gather(*(_key_set_check(key) for key in keys if isinstance(key, KeySet)))
    try:
        configured_verifier(settings.auth)
    except BasculeError as error:
        return [failed("gateway keys", error), *sets]
    fixed = len(keys) - len(sets)
    return [*([Check("gateway keys", "ok", f"{fixed} in the config can be used")] if fixed else []), *sets]


def _without_keys(settings: GatewaySettings) -> Check:
    """Whoever tries it out on this machine alone needs none."""
    try:
        check_door(Door(settings, url="http://localhost/mcp"))
    except BasculeError as error:
        told = "there is no key under `gateway.auth`: it is served with `bascule serve --dev` alone"
        local = settings.host in {"127.0.0.1", "::1", "localhost"}
        return Check("gateway keys", "ok", told) if local else failed("gateway keys", error)
    return Check("gateway keys", "ok", "none is needed")


async def _key_set_check(key: KeySet) -> Check:
    try:
        found = read_key_set(await fetch_key_set(key.url), key.algorithms)
    except BasculeError as error:
        return failed("gateway keys", error)
    except ValueError as error:
        told = f"the JWKS at {key.url} cannot be used: {error}"
        return Check("gateway keys", "fail", told, f"algorithms: {', '.join(key.algorithms)}", "check `jwks`")
    return Check("gateway keys", "ok", f"{len(found)} at {key.url}")


WITHIN = 3.0
"""Seconds for a collector to answer. It is beside us, as a rule."""

TELEMETRY = "telemetry"


async def telemetry_checks(settings: TelemetrySettings) -> list[Check]:
    checks: list[Check] = []
    if settings.otlp is not None:
        checks.append(await _collector_check(settings.otlp))
    if settings.page is not None:
        checks.append(port_check(TELEMETRY, "telemetry.prometheus", *settings.page))
    return checks


async def _collector_check(address: str) -> Check:
    """Whether anybody takes a connection there. Nothing is sent."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    shown = f"{parts.scheme}://{host}:{port}"
    try:
        async with asyncio.timeout(WITHIN):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        evidence = f"no answer within {WITHIN:g} s" if isinstance(error, TimeoutError) else str(error)
        fix = "start the collector, correct `telemetry.otlp`, or leave it out"
        return Check(TELEMETRY, "warn", f"no collector listens at {shown}: spans and metrics are lost", evidence, fix)
    writer.transport.abort()
    return Check(TELEMETRY, "ok", f"a collector listens at {shown}")
