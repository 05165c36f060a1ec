"""From what stands in a file under `gateway` to its settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bascule.config.loading.entries import Entry
from bascule.config.loading.kit_server_draft__auth_keys import auth_table_flaws, token_key
from bascule.config.model.auth import AuthSettings, Claims, TokenKey
from bascule.config.model.gateway import GatewaySettings, place_flaws, worker_flaws
from bascule.config.problems import KeyPath, Problems
from bascule.config.validation import Flaw


def read_gateway(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> GatewaySettings:
    """What the file says. What is wrong with it is added to the problems; then what is returned means nothing."""
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
