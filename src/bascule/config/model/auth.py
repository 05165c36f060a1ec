"""Token verification settings of a kit server or the gateway: keys, issuer, audience and claims."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

from bascule.config.problems import did_you_mean
from bascule.config.secret import Secret
from bascule.config.secret_strength import LEAST, secret_flaw
from bascule.config.urls import is_in_clear, url_flaw
from bascule.config.validation import Flaw, choice_flaws, items, refuse, texts
from bascule.config.variables import Hole

SYMMETRIC = tuple(LEAST)
ASYMMETRIC = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)

SET_ALGORITHMS = ("RS256", "ES256", "ES384", "ES512", "EdDSA")
"""What the keys of a set are used with unless told otherwise: one algorithm for each kind of key."""

MOST_KEYS = 16
"""Keys of one server. A token that names none is tried with each that fits."""

LONGEST_ID = 128
"""Characters in the id of a key."""

LONGEST_PEM = 64 * 1024

_KEY_ID = re.compile(rf"[\x21-\x7e]{{1,{LONGEST_ID}}}")
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_PUBLIC = re.compile(r"\s*-----BEGIN (?:RSA )?PUBLIC KEY-----")

_ONE_OF = ("secret", "public_key", "jwks")
_FIELDS = {
    "secret": ("algorithm", "secret", "kid"),
    "public_key": ("algorithm", "public_key", "kid"),
    "jwks": ("jwks", "algorithms"),
}
"""What may stand in an entry of `keys`, by what kind of key it is."""


@dataclass(frozen=True, slots=True)
class SharedSecret:
    """A secret that whoever issues tokens has too. It is used with one algorithm."""

    algorithm: str
    secret: Secret | str
    kid: str | None = None

    def __post_init__(self) -> None:
        given = self.secret.reveal() if isinstance(self.secret, Secret) else self.secret
        refuse("SharedSecret", secret_key_flaws(algorithm=self.algorithm, secret=given, kid=self.kid))
        object.__setattr__(self, "secret", Secret(given))


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The public half of a key pair, in PEM. It is used with one algorithm."""

    algorithm: str
    pem: str
    kid: str | None = None

    def __post_init__(self) -> None:
        refuse("PublicKey", public_key_flaws(algorithm=self.algorithm, public_key=self.pem, kid=self.kid))


@dataclass(frozen=True, slots=True)
class KeySet:
    """Public keys that an identity provider lists at an address. Each is used with one of these algorithms, and with
    none if several fit and it does not say which."""

    url: str
    algorithms: tuple[str, ...] = SET_ALGORITHMS

    def __post_init__(self) -> None:
        refuse("KeySet", key_set_flaws(jwks=self.url, algorithms=self.algorithms))
        object.__setattr__(self, "algorithms", texts(self.algorithms))


TokenKey = SharedSecret | PublicKey | KeySet


@dataclass(frozen=True, slots=True)
class Claims:
    """Where a token says who asks. A name is taken as it stands: a dot in it leads nowhere."""

    user: str = "sub"
    session: str = "session_id"

    def __post_init__(self) -> None:
        refuse("Claims", claims_flaws(self.user, self.session))


@dataclass(frozen=True, slots=True)
class AuthSettings:
    """Which tokens are believed. Without keys, those that this machine's own runtime mints, and no others."""

    keys: tuple[TokenKey, ...] = ()
    issuer: str | None = None
    audience: str | None = None
    claims: Claims = field(default_factory=Claims)

    def __post_init__(self) -> None:
        given = items(self.keys)
        fits = given is not None and all(isinstance(key, TokenKey) for key in given)
        unfit = [] if fits else [Flaw(("keys",), "must be a list of SharedSecret, PublicKey and KeySet")]
        refuse("AuthSettings", chain(unfit, auth_flaws(given or (), self.issuer, self.audience)))
        object.__setattr__(self, "keys", given)


def auth_flaws(keys: tuple[Any, ...], issuer: Any, audience: Any) -> Iterator[Flaw]:
    if len(keys) > MOST_KEYS:
        yield Flaw(("keys",), f"are more than {MOST_KEYS}; list them at an address, and name that as `jwks`")
    yield from _repeated_kid_flaws(keys)
    for name, value, why in (
        ("issuer", issuer, "another issuer's tokens would be believed if it ever signed with the same key"),
        ("audience", audience, "a token that was issued for another server would be believed here"),
    ):
        if value is not None and not (isinstance(value, str) and value.strip() and value.isprintable()):
            yield Flaw((name,), "must be text, and not empty")
        elif keys and value is None:
            yield Flaw((name,), f"is missing beside `keys`: {why}")
    if issuer is not None and not keys:
        yield Flaw(("issuer",), "goes with `keys`, which are not given")


def _repeated_kid_flaws(keys: tuple[Any, ...]) -> Iterator[Flaw]:
    """Entries of `keys`, as a file or as a program gives them, whose `kid` an earlier entry has."""
    known = set[str]()
    for index, key in enumerate(keys):
        kid = cast("Mapping[str, Any]", key).get("kid") if isinstance(key, Mapping) else getattr(key, "kid", None)
        if isinstance(kid, str) and kid in known:
            yield Flaw(("keys", index, "kid"), f"is {kid!r:.100} a second time; each key needs an id of its own")
        elif isinstance(kid, str):
            known.add(kid)


def claims_flaws(user: Any, session: Any) -> Iterator[Flaw]:
    for name, value in (("user", user), ("session", session)):
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            yield Flaw((name,), "must be the name of a claim")
    if user == session:
        yield Flaw(("session",), "is the claim that names the user; leave it out to have one agent session per user")


def entry_flaws(entry: Any) -> Iterator[Flaw]:
    """What is wrong with one entry of `keys` in a file."""
    if not isinstance(entry, Mapping):
        yield Flaw((), "must be a mapping with `secret`, `public_key` or `jwks`")
        return
    given = cast("Mapping[str, Any]", entry)
    kinds = [kind for kind in _ONE_OF if given.get(kind) is not None]
    known = {name for names in _FIELDS.values() for name in names}
    for name in given:
        if name not in known:
            yield Flaw((name,), f"unknown key{did_you_mean(name, known)}")
        elif len(kinds) == 1 and name not in _FIELDS[kinds[0]] and given[name] is not None:
            yield Flaw((name,), f"does not go with `{kinds[0]}`; remove it")
    if len(kinds) != 1:
        yield Flaw((), f"must have one of {', '.join(f'`{kind}`' for kind in _ONE_OF)}")
    elif not any(isinstance(value, Hole) for value in given.values()):
        yield from _flaws_of(kinds[0], given)


def _flaws_of(kind: str, given: Mapping[str, Any]) -> Iterator[Flaw]:
    if kind == "jwks":
        yield from key_set_flaws(jwks=given["jwks"], algorithms=given.get("algorithms") or SET_ALGORITHMS)
    elif kind == "secret":
        yield from secret_key_flaws(algorithm=given.get("algorithm"), secret=given["secret"], kid=given.get("kid"))
    else:
        # What does not begin like a key is the path of a file, which is read later.
        pem = given["public_key"]
        named = isinstance(pem, str) and not pem.lstrip().startswith("-----")
        yield from public_key_flaws(
            algorithm=given.get("algorithm"), public_key=None if named and pem.strip() else pem, kid=given.get("kid")
        )


def secret_key_flaws(*, algorithm: Any, secret: Any, kid: Any) -> Iterator[Flaw]:
    unfit = [*choice_flaws("algorithm", algorithm, SYMMETRIC)]
    yield from unfit
    yield from _kid_flaws(kid)
    if not isinstance(secret, str):
        yield Flaw(("secret",), "must be text; put it in quotes")
    elif "-----BEGIN" in secret:
        yield Flaw(("secret",), "is a key in PEM; a public key is no secret: give it as `public_key`")
    elif not unfit and (flaw := secret_flaw(secret, algorithm)):
        yield Flaw(("secret",), flaw)


def public_key_flaws(*, algorithm: Any, public_key: Any, kid: Any) -> Iterator[Flaw]:
    """`public_key` may be None where it is not read yet."""
    yield from choice_flaws("algorithm", algorithm, ASYMMETRIC)
    yield from _kid_flaws(kid)
    if public_key is not None and (flaw := pem_flaw(public_key)):
        yield Flaw(("public_key",), flaw)


def pem_flaw(pem: Any) -> str | None:
    if isinstance(pem, str) and _PRIVATE.search(pem):
        return "is a private key; only the public one is needed here, and nobody else should have the private one"
    if not isinstance(pem, str) or not _PUBLIC.match(pem) or len(pem) > LONGEST_PEM:
        return "must be a public key in PEM (-----BEGIN PUBLIC KEY-----), or the path of a file with one"
    return None


def key_set_flaws(*, jwks: Any, algorithms: Any) -> Iterator[Flaw]:
    flaw = url_flaw(jwks) if isinstance(jwks, str) else "must be text"
    if flaw or is_in_clear(jwks):
        yield Flaw(("jwks",), flaw or "must begin with https://: whoever is on the way could put in a key of their own")
    given = items(algorithms)
    if not given:
        yield Flaw(("algorithms",), f"must be a list of some of {', '.join(ASYMMETRIC)}")
    for index, algorithm in enumerate(given or ()):
        for wrong in choice_flaws("algorithms", algorithm, ASYMMETRIC):
            yield Flaw(("algorithms", index), wrong.text)


def _kid_flaws(kid: Any) -> Iterator[Flaw]:
    if kid is not None and not (isinstance(kid, str) and _KEY_ID.fullmatch(kid)):
        yield Flaw(("kid",), f"must be the id that tokens name the key by: up to {LONGEST_ID} letters without spaces")
