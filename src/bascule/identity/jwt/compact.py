"""Compact form of a JSON Web Token (three parts between dots): strict parser, and few allowed header fields."""

import base64
import json
import re
from typing import Any, NoReturn

import msgspec

from bascule.config.model.auth import LONGEST_ID
from bascule.core.json_types import JsonObject, is_object
from bascule.identity.jwt.rejection import not_believed

LONGEST = 16 * 1024
"""Characters. Headers of HTTP are cut off near this length anyway; a longer token only costs us time."""

HEADER = frozenset({"alg", "typ", "kid"})
"""All that a header may name. Others lead to keys of the sender's own (`jku`, `x5u`, `jwk`, `x5c`), or change what the
signature covers (`crit`, `b64`, `zip`)."""

_PART = re.compile(r"[A-Za-z0-9_-]+")
_KEY_ID = re.compile(rf"[A-Za-z0-9._~+/=:@|-]{{1,{LONGEST_ID}}}")


class Compact(msgspec.Struct, frozen=True):
    """A token that has the right form. Nothing in it is believed yet, and its claims are not even read."""

    algorithm: str
    kind: str
    """Its `typ` in lower case; `jwt` where it does not say."""
    kid: str | None
    signed: bytes
    """What the signature is over."""
    signature: bytes
    body: bytes

    def __repr__(self) -> str:
        return f"Compact({self.algorithm!r}, {self.kind!r})"


def read_compact(token: str) -> Compact:
    """The parts of a token. Raises `NotIdentified` unless it is written exactly as the standard says."""
    if len(token) > LONGEST:
        raise not_believed(f"it is longer than {LONGEST} characters", "token_length")
    parts = token.split(".")
    if len(parts) != 3 or not token.isascii():
        raise not_believed("it does not have three parts in plain letters", "token_form")
    header = _object(_bytes(parts[0]), "header")
    _check_header(header)
    return Compact(
        algorithm=header["alg"],
        kind=header.get("typ", "jwt").lower().removeprefix("application/"),
        kid=header.get("kid"),
        signed=f"{parts[0]}.{parts[1]}".encode("ascii"),
        signature=_bytes(parts[2]),
        body=_bytes(parts[1]),
    )


def read_body(compact: Compact) -> JsonObject:
    """The claims. Only for a token whose signature was verified."""
    return _object(compact.body, "body")


def _check_header(header: JsonObject) -> None:
    if header.keys() - HEADER:
        raise not_believed(f"its header names more than {', '.join(sorted(HEADER))}", "token_header")
    if not isinstance(header.get("alg"), str) or not isinstance(header.get("typ", ""), str):
        raise not_believed("its header does not name an algorithm and a type as text", "token_header")
    if "kid" in header and not _is_key_id(header["kid"]):
        raise not_believed("its header names a key in a way that no key is named", "token_header")


def _is_key_id(kid: Any) -> bool:
    """Whether this may be the id of a key. It is only ever compared, but what climbs was meant to be opened. Slashes
    alone do not tell: some providers write ids in plain base64."""
    return isinstance(kid, str) and bool(_KEY_ID.fullmatch(kid)) and not {".", ".."} & {*kid.split("/")}


def _bytes(part: str) -> bytes:
    if not _PART.fullmatch(part) or len(part) % 4 == 1:
        raise not_believed("a part of it is not base64url without padding", "token_form")
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    # Bits that are left over could be anything, and the same token would have several spellings.
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise not_believed("a part of it is not base64url in its one spelling", "token_form")
    return data


def _object(data: bytes, part: str) -> JsonObject:
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise not_believed(f"its {part} is not JSON in UTF-8 that names everything once", "token_form") from None
    if not is_object(value):
        raise not_believed(f"its {part} is not an object", "token_form")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers of a doubled name may each see another value: the one who verifies, and the one who uses it."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)


def _no_number(_: str) -> NoReturn:
    raise ValueError
