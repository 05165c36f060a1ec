"""Draft of a kit server (`type: server`): fills variables, validates values, and reads the token verification keys
under `auth.keys`, also from files of their own."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bascule.config.loading.entries import fill_entry, read_values
from bascule.config.loading.key_table import KIT_SERVER_KEYS, SERVER_KEYS
from bascule.config.loading.server_draft import Draft, is_known, location_of, reason_of
from bascule.config.model.auth import (
    LONGEST_PEM,
    SET_ALGORITHMS,
    AuthSettings,
    Claims,
    KeySet,
    PublicKey,
    SharedSecret,
    TokenKey,
    auth_flaws,
    claims_flaws,
    entry_flaws,
    pem_flaw,
)
from bascule.config.model.kit_server import KitServer, kit_server_flaws
from bascule.config.problems import KeyPath, Problems
from bascule.config.validation import Flaw
from bascule.files.regular_file import read_regular


def auth_table_flaws(values: Mapping[str, Any], above: str = "") -> Iterator[Flaw]:
    """What is wrong with an `auth` table, whose keys are in `values` behind `above`. Each begins with the name of its
    key from `auth` on."""
    keys = values[f"{above}auth.keys"]
    for index, entry in enumerate(keys):
        yield from (Flaw(("auth.keys", index, *flaw.path), flaw.text) for flaw in entry_flaws(entry))
    for flaw in auth_flaws(keys, values[f"{above}auth.issuer"], values[f"{above}auth.audience"]):
        yield Flaw((f"auth.{flaw.path[0]}", *flaw.path[1:]), flaw.text)
    for flaw in claims_flaws(values[f"{above}auth.claims.user"], values[f"{above}auth.claims.session"]):
        yield Flaw((f"auth.claims.{flaw.path[0]}",), flaw.text)


def token_key(entry: Mapping[str, Any], folder: Path) -> tuple[TokenKey | None, str | None]:
    """A key whose entry has no flaw, or what is wrong with the file it names, from `folder` on."""
    if entry.get("jwks") is not None:
        return KeySet(str(entry["jwks"]), tuple(entry.get("algorithms") or SET_ALGORITHMS)), None
    if entry.get("secret") is not None:
        return SharedSecret(str(entry["algorithm"]), str(entry["secret"]), entry.get("kid")), None
    pem, flaw = str(entry["public_key"]), None
    if not pem.lstrip().startswith("-----"):
        pem, flaw = _read(folder / pem)
    flaw = flaw or pem_flaw(pem)
    return (None, flaw) if flaw else (PublicKey(str(entry["algorithm"]), pem, entry.get("kid")), None)


def _read(path: Path) -> tuple[str, str | None]:
    """What is in the file of a key, or why that cannot be read."""
    try:
        return read_regular(path, LONGEST_PEM + 1).decode("ascii"), None
    except OSError as error:
        return "", f"names a file that cannot be read: {error.strerror or type(error).__name__}"
    except ValueError:
        return "", "names a file that is not text"


SERVER = "server"


def is_kit_draft(draft: Draft) -> bool:
    return "type" in draft.entry


def make_kit_server(draft: Draft, environ: Mapping[str, str], problems: Problems) -> KitServer | None:
    """The server, usable or refused on its own; nothing if the file has to be corrected first."""
    if not _is_one(draft, problems):
        return None
    draft.entry, missing = fill_entry(draft.entry, environ)
    for each in missing:
        draft.refuse(problems.told(each.path, each.told), each.fix)
    values = read_values({name: SERVER_KEYS[name] for name in KIT_SERVER_KEYS}, draft.entry, problems)
    for flaw in _flaws_of(values):
        place = _place(draft, flaw.path)
        if not is_known(place, missing, problems):
            problems.add(place, flaw.text)
    if problems.found:
        return None
    auth = AuthSettings() if draft.refusals else _auth(draft, values, problems)
    located = location_of(draft, problems)
    return KitServer(
        name=draft.name,
        target=values["target"] or "",
        instructions=values["instructions"],
        port=values["port"],
        auth=auth,
        location=located,
        unavailable_reason=reason_of(draft, located),
    )


def _is_one(draft: Draft, problems: Problems) -> bool:
    """Whether the entry describes a server of ours, and nothing else beside it."""
    given = draft.entry["type"]
    if draft.foreign:
        problems.add(given.path, "a server of our own stands in a file of our own; move it to bascule.yaml")
    elif given.value != SERVER:
        text = "must be server, for one that is started here; how another is reached, its `command` or `url` says"
        problems.add(given.path, text)
    for name, other in draft.entry.items():
        if name not in KIT_SERVER_KEYS and not draft.foreign and given.value == SERVER:
            problems.add(other.path, "goes with a server that is connected to, but this has `type: server`; remove it")
    return not draft.foreign and given.value == SERVER


def _flaws_of(values: dict[str, Any]) -> Iterator[Flaw]:
    """What is wrong, each with the whole name of its key as the first part of its path."""
    yield from kit_server_flaws(values["target"], values["port"])
    yield from auth_table_flaws(values)


def _place(draft: Draft, path: KeyPath) -> KeyPath:
    name = str(path[0])
    given = draft.entry.get(name)
    return (*(given.path if given else (*draft.path, *name.split("."))), *path[1:])


def _auth(draft: Draft, values: dict[str, Any], problems: Problems) -> AuthSettings:
    keys = [_key(draft, index, entry, problems) for index, entry in enumerate(values["auth.keys"])]
    if draft.refusals:
        return AuthSettings()
    return AuthSettings(
        tuple(key for key in keys if key is not None),
        values["auth.issuer"],
        values["auth.audience"],
        Claims(values["auth.claims.user"], values["auth.claims.session"]),
    )


def _key(draft: Draft, index: int, entry: Mapping[str, Any], problems: Problems) -> TokenKey | None:
    key, flaw = token_key(entry, Path(problems.file).parent)
    if flaw:
        # The file of a key is not this file: what is wrong there stops this one server.
        draft.refuse(problems.told(_place(draft, ("auth.keys", index, "public_key")), flaw))
    return key
