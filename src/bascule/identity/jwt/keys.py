"""Token verification keys, from secrets, PEM and JWKS documents. Each key has one fixed algorithm, which no token can
change; unfit keys of a JWKS are left out."""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from bascule.config.secret_strength import secret_bytes, secret_flaw
from bascule.core.errors import ConfigError
from bascule.core.json_types import JsonObject, as_array, is_object

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

_log = logging.getLogger("bascule.identity")

LEAST_RSA = 2048
MOST_RSA = 8192
"""Bits. Beyond this a signature takes so long to verify that it is a way to keep us busy."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key with its one algorithm."""

    algorithm: str
    kid: str | None
    material: Any = field(repr=False)
    fingerprint: bytes = field(repr=False)
    """The same for the same key, whatever it is used with."""

    def verifies(self, signed: bytes, signature: bytes) -> bool:
        return bool(_algorithm(self.algorithm).verify(signed, self.material, signature))

    def serves(self, kid: str | None) -> bool:
        """Whether a token that names a key so may mean this one. A key without an id is meant by any plain name; what
        could be a path has to be the id itself."""
        if self.kid is None:
            return kid is None or "/" not in kid
        return kid is None or kid == self.kid


def secret_key(algorithm: str, secret: str | bytes, kid: str | None = None) -> Key:
    """A key from a secret. A public key is refused: it is no secret, whatever its length."""
    from jwt.exceptions import InvalidKeyError  # noqa: PLC0415 -- slow to import

    data, flaw = secret_bytes(secret), secret_flaw(secret, algorithm)
    if flaw or data is None:
        raise _unusable(f"the secret {flaw}")
    try:
        material = _algorithm(algorithm).prepare_key(data)
    except InvalidKeyError:
        raise _unusable("the secret is a key of another kind, and not one that is kept secret") from None
    return Key(algorithm, kid, material, hashlib.sha256(b"secret:" + data).digest())


def public_key(algorithm: str, pem: str, kid: str | None = None) -> Key:
    """A key from a public key in PEM."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 -- slow to import
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    try:
        material = load_pem_public_key(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise _unusable("the public key cannot be read") from None
    return asymmetric_key(algorithm, material, kid)


def asymmetric_key(algorithm: str, material: Any, kid: str | None) -> Key:
    """A key from a public key that was read. It must be of the kind that the algorithm is for, and long enough."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 -- slow to import

    flaw = _kind_flaw(algorithm, material)
    if flaw:
        raise _unusable(flaw)
    told = material.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Key(algorithm, kid, material, hashlib.sha256(told).digest())


def check_one_algorithm_each(keys: tuple[Key, ...]) -> None:
    """Raise `ConfigError` where one key is to be used with several algorithms: each would weaken the other."""
    known: dict[bytes, str] = {}
    for key in keys:
        if known.setdefault(key.fingerprint, key.algorithm) != key.algorithm:
            raise _unusable(f"one key is given for {known[key.fingerprint]} and for {key.algorithm}")


def _algorithm(name: str) -> "Algorithm":
    from jwt.algorithms import get_default_algorithms  # noqa: PLC0415 -- slow to import

    if not _ALGORITHMS:
        _ALGORITHMS.update(get_default_algorithms())
    return _ALGORITHMS[name]


_ALGORITHMS: "dict[str, Algorithm]" = {}


def _kind_flaw(algorithm: str, material: Any) -> str | None:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415 -- slow to import

    curves = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
    match algorithm[:2], material:
        case (("RS" | "PS"), rsa.RSAPublicKey()):
            return _rsa_flaw(material.key_size, material.public_numbers().n)
        case "ES", ec.EllipticCurvePublicKey():
            fits = isinstance(material.curve, curves[algorithm])
            return None if fits else f"a key on the curve {material.curve.name} is not one for {algorithm}"
        case "Ed", ed25519.Ed25519PublicKey():
            return None
        case _:
            return f"the public key is of another kind than {algorithm} is for"


def _rsa_flaw(bits: int, modulus: int) -> str | None:
    if not LEAST_RSA <= bits <= MOST_RSA:
        return f"an RSA key must have {LEAST_RSA} to {MOST_RSA} bits, not {bits}"
    if has_roca(modulus):
        return (
            "its RSA modulus has the ROCA weakness (CVE-2017-15361), so the private key can be computed from it; "
            "make a new key pair in software"
        )
    return None


_ROCA_PRIMES = (
    *(3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103),
    *(107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167),
)
"""Odd primes that divide the product M of every affected key length. One ordinary modulus in 240 million passes for an
affected one."""


def has_roca(modulus: int) -> bool:
    """Fingerprint of ROCA. The affected library made both primes as `k * M + 65537**a % M`, so the modulus is a power
    of 65537 modulo each prime factor of M."""
    return all(modulus % prime in _powers_of_65537(prime) for prime in _ROCA_PRIMES)


@cache
def _powers_of_65537(prime: int) -> frozenset[int]:
    return frozenset(pow(65537, exponent, prime) for exponent in range(prime))


def _unusable(why: str) -> ConfigError:
    return ConfigError(f"a key for tokens cannot be used: {why}", fix="correct it under `auth.keys`")


MOST_KEYS = 64
"""Keys in one set. The largest providers list a handful."""

_NEEDED = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
"""The kinds of key that can be public, and what each is made of."""

_SECRET = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Parts of private and symmetric keys. One that is listed is known to everybody, so what it signs proves nothing."""

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}


def read_key_set(body: bytes, algorithms: tuple[str, ...]) -> tuple[Key, ...]:
    """Usable keys of a JWKS. Raises `ValueError` for a body that is no set, has no usable key, or lists a `kid` twice:
    two readers could then verify with different keys."""
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is not JSON") from None
    listed = as_array(document.get("keys")) if is_object(document) else []
    if not 0 < len(listed) <= MOST_KEYS:
        raise ValueError(f"it does not list 1 to {MOST_KEYS} keys")
    ids = Counter(each["kid"] for each in listed if is_object(each) and isinstance(each.get("kid"), str))
    for kid, count in ids.items():
        if count > 1:
            raise ValueError(f"it lists the kid {kid!r:.100} {count} times, so none of its keys is used")
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
    except (PyJWTError, ConfigError, ValueError, TypeError) as error:
        why = error.message if isinstance(error, ConfigError) else "it cannot be read"
        _log.warning("the key with the kid %.100r of a JWKS is left out: %s", kid, why)


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
