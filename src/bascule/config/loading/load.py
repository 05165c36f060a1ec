"""Loader: one config file to one `RuntimeConfig`, with its `gateway` section. All problems of a file come in one error,
and the file is only read."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bascule.config.loading.client_formats import OURS
from bascule.config.loading.document import Document, document_of, read_document
from bascule.config.loading.entries import SHAPES, Entry, Shape, fill_entry, read_values, shape_of, sort_keys
from bascule.config.loading.key_table import TOP_KEYS
from bascule.config.loading.kit_server_draft import auth_table_flaws, is_kit_draft, make_kit_server, token_key
from bascule.config.loading.server_draft import make_server
from bascule.config.loading.server_list import list_drafts
from bascule.config.model.auth import AuthSettings, Claims, TokenKey
from bascule.config.model.egress import Egress, egress_flaws
from bascule.config.model.gateway import (
    AUTO,
    DashboardSettings,
    GatewaySettings,
    place_flaws,
    token_flaws,
    worker_flaws,
)
from bascule.config.model.result_presets import Preset, preset_map, presets_flaws
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.model.telemetry import TelemetrySettings, telemetry_flaws
from bascule.config.problems import KeyPath, Problems, did_you_mean
from bascule.config.secret import Secret
from bascule.config.validation import Flaw, runtime_flaws
from bascule.config.variables import read_dotenv
from bascule.core.json_types import JsonObject, is_object


def read_gateway(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> GatewaySettings:
    """Settings of the `gateway` section. Its flaws become problems; then the returned settings mean nothing."""
    # Each begins with the name of its key below `gateway`.
    places = place_flaws(values["gateway.host"], values["gateway.port"])
    flaws = [*places, *worker_flaws(values["gateway.workers"]), *auth_table_flaws(values, "gateway.")]
    keys: list[TokenKey] = []
    if not flaws:
        for index, each in enumerate(values["gateway.auth.keys"]):
            key, flaw = token_key(each, Path(problems.file).parent)
            if key is not None:
                keys.append(key)
            if flaw is not None:
                flaws.append(Flaw(("auth.keys", index, "public_key"), flaw))
    for flaw in flaws:
        name = f"gateway.{flaw.path[0]}"
        place = (*(entry[name].path if name in entry else (*path, *name.split("."))), *flaw.path[1:])
        if not problems.touch(place):
            problems.add(place, flaw.text)
    if flaws:
        return GatewaySettings()
    claims = Claims(values["gateway.auth.claims.user"], values["gateway.auth.claims.session"])
    issuer, audience = values["gateway.auth.issuer"], values["gateway.auth.audience"]
    auth = AuthSettings(tuple(keys), issuer, audience, claims)
    return GatewaySettings(values["gateway.host"], values["gateway.port"], auth, values["gateway.workers"])


_FIELDS = {
    "links.max": "links_max",
    "links.starting": "links_starting",
    "messages.max": "message_max",
    "store": "store",
    "catalog.screen": "screen",
    "catalog.lock": "lock",
    "catalog.search_above": "search_above",
    "workspace.root": "workspace_root",
    "workspace.quota": "workspace_quota",
    "audit.arguments": "audit_arguments",
    "audit.anchor_every": "anchor_every",
    "results.presets": "presets",
}
"""Keys beside the servers, and the fields of the model they fill."""


def load_file(path: str | Path, environ: Mapping[str, str] | None = None) -> RuntimeConfig:
    """Read a configuration: ours, or one of another program's. Raises one `ConfigError` that lists every problem.

    A server that alone cannot be used, because a variable it names is not set, say, is in the result with its
    `unavailable_reason`. Variables come from `environ` (the process's own by default), then from `.env` beside it.
    """
    return _loaded(read_document(Path(path)), environ)


def load_text(path: Path, text: str, environ: Mapping[str, str]) -> RuntimeConfig:
    """The same for what a file would say with this text in it."""
    return _loaded(document_of(path, text), environ)


def _loaded(document: Document, environ: Mapping[str, str] | None) -> RuntimeConfig:
    root, shape = _shaped(document)
    variables, dotenv_notes = _variables(document.path, os.environ if environ is None else environ)
    listing = list_drafts(root, shape, document.problems)
    own = [draft for draft in listing.drafts if is_kit_draft(draft)]
    others = [draft for draft in listing.drafts if not is_kit_draft(draft)]
    kit_servers = [make_kit_server(draft, variables, document.problems) for draft in own]
    settings = _settings(root, shape, variables, document.problems)
    presets = settings["presets"]
    servers = [make_server(draft, variables, document.problems, presets) for draft in others]
    document.problems.raise_if_any()
    return RuntimeConfig(
        servers={server.name: server for server in servers if server is not None},
        kit_servers={server.name: server for server in kit_servers if server is not None},
        path=document.path,
        notes=(*dotenv_notes, *listing.notes),
        **settings,
    )


def _shaped(document: Document) -> tuple[JsonObject, Shape]:
    root, problems = document.root, document.problems
    if not is_object(root) or not root:
        what = "is empty" if root is None or root == {} else "must hold a mapping"
        problems.unreadable(what, fix="write servers under `mcp_servers:`")
    shape = shape_of(root)
    if shape is None:
        known = [shape.key for shape in SHAPES if shape.key]
        near = next((hint for key in root if (hint := did_you_mean(key, known))), "")
        problems.unreadable(f"holds no servers{near}", fix="write servers under `mcp_servers:`")
    return root, shape


def _variables(path: Path, environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What `${…}` may name. The environment has the last word, as an operator who sets a variable expects."""
    values, notes = read_dotenv(path.parent / ".env")
    return values | dict(environ), notes


def _settings(root: JsonObject, shape: Shape, variables: Mapping[str, str], problems: Problems) -> dict[str, Any]:
    raw, path = _own_part(root, shape)
    entry, missing = fill_entry(sort_keys(TOP_KEYS, raw, path, problems), variables)
    for each in missing:
        problems.add(each.path, f"{each.told}; {each.fix}")
    values = read_values(TOP_KEYS, entry, problems)
    settings = {field: values[key] for key, field in _FIELDS.items()}
    keys = {field: key for key, field in _FIELDS.items()}
    flaws = (*runtime_flaws(settings), *presets_flaws(settings["presets"]))
    for flaw in flaws:
        key = keys[str(flaw.path[0])]
        problems.add((*entry[key].path, *flaw.path[1:]) if key in entry else (*path, key), flaw.text)
    egress = _egress(values, entry, path, problems)
    gateway = read_gateway(values, entry, path, problems)
    telemetry = _telemetry(values, entry, path, problems)
    dashboard = _dashboard(values, entry, path, problems)
    read = {"egress": egress, "gateway": gateway, "telemetry": telemetry, "dashboard": dashboard}
    return settings | read | {"presets": _presets(settings["presets"], flaws)}


def _egress(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> Egress:
    flaws = [*egress_flaws(values["egress.allow"], values["egress.ports"])]
    _blame("egress", flaws, entry, path, problems)
    return Egress() if flaws else Egress(values["egress.allow"], values["egress.ports"])


def _telemetry(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> TelemetrySettings:
    given = (values["telemetry.otlp"], values["telemetry.prometheus"])
    flaws = [*telemetry_flaws(*given)]
    _blame("telemetry", flaws, entry, path, problems)
    return TelemetrySettings() if flaws else TelemetrySettings(*given)


def _dashboard(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> DashboardSettings:
    enabled, token = values["dashboard.enabled"], values["dashboard.token"]
    flaws = [*token_flaws(token)]
    _blame("dashboard", flaws, entry, path, problems)
    return DashboardSettings(enabled, None if flaws or token == AUTO else Secret(token))


def _blame(table: str, flaws: Iterable[Flaw], entry: Entry, path: KeyPath, problems: Problems) -> None:
    """Tell flaws of what stands in one table where it stands."""
    for flaw in flaws:
        key = f"{table}.{flaw.path[0]}"
        place = (*entry[key].path, *flaw.path[1:]) if key in entry else (*path, key)
        if not problems.touch(place):
            problems.add(place, flaw.text)


def _presets(given: Mapping[str, Any], flaws: Iterable[Flaw]) -> Mapping[str, Preset]:
    """By name. One that is flawed stands for itself by its name alone: what names it is not flawed too."""
    flawed = {flaw.path[1] for flaw in flaws if flaw.path[0] == "presets" and len(flaw.path) > 1}
    return preset_map({name: Preset() if name in flawed else each for name, each in given.items()})


def _own_part(root: JsonObject, shape: Shape) -> tuple[Any, KeyPath]:
    """The keys beside the servers that are ours to read."""
    if shape.foreign:
        ours = root.get(OURS)
        return ({} if ours is None else ours), (OURS,)
    return {key: value for key, value in root.items() if key != shape.key}, ()
