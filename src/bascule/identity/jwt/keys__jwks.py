"""The keys an identity provider lists, read. What is unfit to verify with is left out, never guessed at."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bascule.core.errors import ConfigError
from bascule.core.json_types import JsonObject, as_array, is_object
from bascule.identity.jwt.keys import Key, asymmetric_key

MOST_KEYS = 64
"""Keys in one set. The largest providers list a handful."""

_NEEDED = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
"""The kinds of key that can be public, and what each is made of."""

_SECRET = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Parts of private and symmetric keys. One that is listed is known to everybody, so what it signs proves nothing."""

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}


def read_key_set(body: bytes, algorithms: tuple[str, ...]) -> tuple[Key, ...]:
    """The usable keys of a set. Raises `ValueError` if it is none, or has none."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None
    listed = as_array(document.get("keys")) if is_object(document) else []
    if not 0 < len(listed) <= MOST_KEYS:
        raise ValueError(f"it does not list 1 to {MOST_KEYS} keys")
    keys = tuple(key for each in listed for key in _usable(each, algorithms))
    if not keys:
        raise ValueError("it lists no key that can be used")
    return keys


def _usable(jwk: Any, algorithms: tuple[str, ...]) -> Iterator[Key]:
    if not is_object(jwk) or jwk.keys() & _SECRET or not _is_for_signatures(jwk):
        return
    algorithm = _allowed_algorithm(jwk, algorithms)
    kid = jwk.get("kid")
    if algorithm is None or not (kid is None or isinstance(kid, str)):
        return
    from jwt.exceptions import PyJWTError  # noqa: PLC0415 -- slow to import

    try:
        yield asymmetric_key(algorithm, _material(jwk), kid)
    except (PyJWTError, ConfigError, ValueError, TypeError):
        return


def _is_for_signatures(jwk: JsonObject) -> bool:
    return jwk.get("use", "sig") == "sig" and "verify" in as_array(jwk.get("key_ops", ["verify"]))


def _allowed_algorithm(jwk: JsonObject, algorithms: tuple[str, ...]) -> str | None:
    """The one algorithm that this key is for. None where it names one that was not configured, or several would fit."""
    kind = jwk.get("kty")
    if not isinstance(kind, str) or not all(isinstance(jwk.get(name), str) for name in _NEEDED.get(kind, ("",))):
        return None
    if kind == "RSA":
        fitting = [name for name in algorithms if name.startswith(("RS", "PS"))]
    else:
        fitting = [name for name in algorithms if name == _CURVES.get(jwk["crv"])]
    if "alg" in jwk:
        fitting = [name for name in fitting if name == jwk["alg"]]
    return fitting[0] if len({*fitting}) == 1 else None


def _material(jwk: JsonObject) -> Any:
    from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm  # noqa: PLC0415 -- slow to import

    reader = {"RSA": RSAAlgorithm, "EC": ECAlgorithm, "OKP": OKPAlgorithm}[jwk["kty"]]
    # Only what the key is made of: whatever else stands there is not to be acted on.
    return reader.from_jwk({name: jwk[name] for name in ("kty", *_NEEDED[jwk["kty"]])})
