"""From what stands in a file under `auth.keys` to keys, those in files of their own among them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bascule.config.model.auth import (
    LONGEST_PEM,
    SET_ALGORITHMS,
    KeySet,
    PublicKey,
    SharedSecret,
    TokenKey,
    auth_flaws,
    claims_flaws,
    entry_flaws,
    pem_flaw,
)
from bascule.config.validation import Flaw


def auth_table_flaws(values: Mapping[str, Any], above: str = "") -> Iterator[Flaw]:
    """What is wrong with an `auth` table, whose keys are in `values` behind `above`. Each begins with the name of its
    key from `auth` on."""
    keys = values[f"{above}auth.keys"]
    for index, entry in enumerate(keys):
        yield from (Flaw(("auth.keys", index, *flaw.path), flaw.text) for flaw in entry_flaws(entry))
    for flaw in auth_flaws(keys, values[f"{above}auth.issuer"], values[f"{above}auth.audience"]):
        yield Flaw((f"auth.{flaw.path[0]}",), flaw.text)
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
        with path.open("rb") as file:
            return file.read(LONGEST_PEM + 1).decode("ascii"), None
    except OSError as error:
        return "", f"names a file that cannot be read: {error.strerror or type(error).__name__}"
    except ValueError:
        return "", "names a file that is not text"
