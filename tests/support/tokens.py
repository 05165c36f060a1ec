"""Tokens of every kind, good and bad, written by hand: no library would write the bad ones."""

import base64
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm, get_default_algorithms

NOW = 1_800_000_000.0
ISSUER = "https://id.example"
AUDIENCE = "https://records.example/mcp"
SECRET = "Zr9uQ2fXwL7mT4vKpD8sHc3nYb6gJe1aNqR5xUoWtSiPzMkVlGhBdCfEyA0jI+/w="
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
ALGORITHMS = ("HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *CURVES, "EdDSA")


def rsa_key(bits: int = 2048, number: int = 0) -> rsa.RSAPrivateKey:
    """A key, the same for the same number."""
    return _made("RSA", bits, number)


def roca_key() -> rsa.RSAPrivateKey:
    """A key of 2048 bits with the ROCA weakness, made as the affected library made its keys."""
    return _made("ROCA", 2048, 0)


def ec_key(algorithm: str = "ES256", number: int = 0) -> ec.EllipticCurvePrivateKey:
    return _made("EC", algorithm, number)


def ed_key(number: int = 0) -> ed25519.Ed25519PrivateKey:
    return _made("OKP", "", number)


@cache
def _made(kind: str, what: Any, _number: int) -> Any:
    if kind == "RSA":
        return rsa.generate_private_key(65537, what)
    if kind == "ROCA":
        return _with_roca(what)
    return ec.generate_private_key(CURVES[what]) if kind == "EC" else ed25519.Ed25519PrivateKey.generate()


def _with_roca(bits: int) -> rsa.RSAPrivateKey:
    """Both primes are `k * M + 65537**a % M`. M is the product of the first 126 primes, as for 2048 bits."""
    product = math.prod(n for n in range(2, 702) if all(n % d for d in range(2, math.isqrt(n) + 1)))
    p, q = (_roca_prime(bits // 2, product) for _ in range(2))
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPublicNumbers(65537, p * q)
    parts = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    return rsa.RSAPrivateNumbers(p, q, d, *parts, numbers).private_key()


def _roca_prime(bits: int, product: int) -> int:
    least = 3 << (bits - 2)  # so that the product of two has twice as many bits
    while True:
        k = least // product + 1 + secrets.randbelow((least // 3) // product)
        candidate = k * product + pow(65537, secrets.randbelow(1 << 256), product)
        # Fermat's test: a composite number of this size does not pass it by chance.
        if candidate % 65537 != 1 and pow(2, candidate - 1, candidate) == 1:
            return candidate


def private(algorithm: str) -> Any:
    """The key that the tests sign with under this algorithm."""
    if algorithm.startswith("HS"):
        return SECRET
    if algorithm.startswith("ES"):
        return ec_key(algorithm)
    return ed_key() if algorithm == "EdDSA" else rsa_key()


def pem(key: Any) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def jwk(key: Any, kid: str | None = "k1", **more: Any) -> dict[str, Any]:
    """A public key as a set lists it."""
    writers: dict[type[Any], Any] = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    writer: Any = next((each for kind, each in writers.items() if isinstance(key, kind)), OKPAlgorithm)
    listed = writer.to_jwk(key.public_key(), as_dict=True)
    listed.pop("key_ops", None)
    return {**listed, **({} if kid is None else {"kid": kid}), **more}


def claims(**changes: Any) -> dict[str, Any]:
    """Those of a good token; what is changed to `...` is left out."""
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "session_id": "s-1", "exp": NOW + 600, "iat": NOW}
    return {name: value for name, value in {**good, **changes}.items() if value is not ...}


def part(data: bytes | str | dict[str, Any] | list[Any]) -> str:
    raw = data if isinstance(data, bytes) else (data if isinstance(data, str) else json.dumps(data)).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signature(algorithm: str, signed: bytes, key: Any) -> bytes:
    if algorithm.startswith("HS"):
        data = key if isinstance(key, bytes) else key.encode()
        return hmac.new(data, signed, getattr(hashlib, f"sha{algorithm[2:]}")).digest()
    return get_default_algorithms()[algorithm].sign(signed, key)


def token(
    body: Any = None,
    header: Any = None,
    *,
    algorithm: str = "RS256",
    key: Any = None,
    more: dict[str, Any] | None = None,
) -> str:
    """A token signed with the tests' key, unless another is given. `header` replaces the usual one whole; `more` is added
    to it."""
    head = {"alg": algorithm, "typ": "JWT", **(more or {})} if header is None else header
    signed = f"{part(head)}.{part(claims() if body is None else body)}"
    made = signature(algorithm, signed.encode(), private(algorithm) if key is None else key)
    return f"{signed}.{part(made)}"


@dataclass(slots=True)
class Lister:
    """A place on this machine that lists keys, and counts who asks."""

    url: str = ""
    fetches: int = 0
    paths: list[str] = field(default_factory=list[str])
    keys: list[Any] = field(default_factory=list[Any])
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes | None = None

    async def answer(self, request: web.Request) -> web.Response:
        self.fetches += 1
        self.paths.append(request.path)
        body = json.dumps({"keys": self.keys}).encode() if self.body is None else self.body
        return web.Response(status=self.status, body=body, headers=self.headers, content_type="application/json")


@asynccontextmanager
async def listing(*keys: Any) -> AsyncGenerator[Lister]:
    lister = Lister(keys=list(keys))
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", lister.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        lister.url = f"http://127.0.0.1:{runner.addresses[0][1]}/jwks.json"
        yield lister
    finally:
        await runner.cleanup()
