"""The keys that tokens are verified with. Each has one algorithm from the start, and no token has a say in that."""

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bascule.config.secret_strength import secret_bytes, secret_flaw
from bascule.core.errors import ConfigError

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

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
            fits = LEAST_RSA <= material.key_size <= MOST_RSA
            return None if fits else f"an RSA key must have {LEAST_RSA} to {MOST_RSA} bits, not {material.key_size}"
        case "ES", ec.EllipticCurvePublicKey():
            fits = isinstance(material.curve, curves[algorithm])
            return None if fits else f"a key on the curve {material.curve.name} is not one for {algorithm}"
        case "Ed", ed25519.Ed25519PublicKey():
            return None
        case _:
            return f"the public key is of another kind than {algorithm} is for"


def _unusable(why: str) -> ConfigError:
    return ConfigError(f"a key for tokens cannot be used: {why}", fix="correct it under `auth.keys`")
