"""From what stands in a file under `gateway` to its settings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bascule.config.auth import AuthSettings, Claims, TokenKey, auth_flaws, claims_flaws, entry_flaws
from bascule.config.auth_keys import token_key
from bascule.config.entries import Entry
from bascule.config.flaws import Flaw
from bascule.config.gateway import GatewaySettings, place_flaws
from bascule.config.problems import KeyPath, Problems


def read_gateway(values: Mapping[str, Any], entry: Entry, path: KeyPath, problems: Problems) -> GatewaySettings:
    """What the file says. What is wrong with it is added to the problems; then what is returned means nothing."""
    flaws = [*_flaws(values)]
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
    return GatewaySettings(values["gateway.host"], values["gateway.port"], auth)


def _flaws(values: Mapping[str, Any]) -> Iterator[Flaw]:
    """Each with the name of its key below `gateway` as the first part of its path."""
    yield from place_flaws(values["gateway.host"], values["gateway.port"])
    keys = values["gateway.auth.keys"]
    for index, entry in enumerate(keys):
        yield from (Flaw(("auth.keys", index, *flaw.path), flaw.text) for flaw in entry_flaws(entry))
    for flaw in auth_flaws(keys, values["gateway.auth.issuer"], values["gateway.auth.audience"]):
        yield Flaw((f"auth.{flaw.path[0]}",), flaw.text)
    for flaw in claims_flaws(values["gateway.auth.claims.user"], values["gateway.auth.claims.session"]):
        yield Flaw((f"auth.claims.{flaw.path[0]}",), flaw.text)
