"""From what stands in a file under `auth.keys` to keys, those in files of their own among them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bascule.config.auth import LONGEST_PEM, SET_ALGORITHMS, KeySet, PublicKey, SharedSecret, TokenKey, pem_flaw


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
