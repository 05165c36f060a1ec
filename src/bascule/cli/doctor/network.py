"""What `bascule doctor` checks of what we serve: that addresses are free, and that keys can be used."""

import asyncio
from pathlib import Path

from bascule.cli.doctor.check import Check, failed
from bascule.cli.doctor.network__port_checks import port_check
from bascule.config.model.auth import KeySet
from bascule.config.model.gateway import GatewaySettings
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import BasculeError
from bascule.gateway.serve import Door, check_door
from bascule.identity.jwt.from_config import configured_verifier
from bascule.identity.jwt.keys import read_key_set
from bascule.identity.jwt.remote_jwks import fetch_key_set

SUBJECT = "gateway"


async def gateway_checks(config: RuntimeConfig) -> list[Check]:
    """The gateway's address and keys, and the addresses of our own servers. Nothing is served."""
    settings, default = config.gateway, GatewaySettings()
    place = port_check(SUBJECT, "gateway.port", settings.host, settings.port, needed=settings != default)
    ports = [
        port_check(f"port {name}", f"mcp_servers.{name}.port", "127.0.0.1", server.port, needed=False)
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
    if not found:
        told = f"there is no key in {key.url} that could be used"
        return Check("gateway keys", "fail", told, f"algorithms: {', '.join(key.algorithms)}", "check `jwks`")
    return Check("gateway keys", "ok", f"{len(found)} at {key.url}")
