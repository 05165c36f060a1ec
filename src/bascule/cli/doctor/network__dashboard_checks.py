"""What `bascule doctor` checks of the dashboard: that nobody else can read what opens it, and from where it is seen."""

import shlex
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path

import msgspec

from bascule.cli.doctor.check import Check, failed
from bascule.cli.serve.dashboard import MISSING, installed
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import state_folder
from bascule.core.errors import BasculeError
from bascule.dashboard.auth.token import NAME, token_of
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
