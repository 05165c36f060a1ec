"""Tokens that must not be believed. None is, by no verifier, and none makes us fetch anything."""

import base64
import json
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Any

import pytest

from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.identity.jwt.claims import ONE_PER_USER, Expected
from bascule.identity.jwt.keys import public_key, secret_key
from bascule.identity.jwt.minting import KIND, Mint
from bascule.identity.jwt.remote_jwks import RemoteKeys, fetch_key_set
from bascule.identity.jwt.verifier import Verifier, Verifiers
from support.tokens import (
    ALGORITHMS,
    AUDIENCE,
    ISSUER,
    NOW,
    SECRET,
    Lister,
    claims,
    ec_key,
    ed_key,
    jwk,
    listing,
    part,
    pem,
    private,
    rsa_key,
    signature,
    token,
)

MINT = Mint(base64.b64decode("5J0Yy3p2mS8wQhXv1cKfRtLdAeNbGz7oUiHj4sPkWxE="), lambda: NOW)
OTHER = rsa_key(number=1)
GOOD = token()
HEAD, BODY, SIGNED = GOOD.split(".")


def forged(algorithm: str, key: Any, **more: Any) -> str:
    return token(algorithm=algorithm, key=key, more=more)


def unsigned(header: dict[str, Any], body: Any = None, mark: str = "") -> str:
    return f"{part(header)}.{part(claims() if body is None else body)}.{mark}"


def on(signed: str, algorithm: str = "RS256") -> str:
    """These two parts as they stand, signed with the real key."""
    return f"{signed}.{part(signature(algorithm, signed.encode(), private(algorithm)))}"


def nones() -> Iterator[tuple[str, str]]:
    for name in ("none", "None", "NONE", "nOnE", "", "null", "none "):
        yield f"alg {name!r}, no signature", unsigned({"alg": name, "typ": "JWT"})
        yield f"alg {name!r}, a signature", unsigned({"alg": name, "typ": "JWT"}, mark=SIGNED)
        yield f"alg {name!r}, signed with the real key", on(f"{part({'alg': name, 'typ': 'JWT'})}.{BODY}")
    yield "no alg", unsigned({"typ": "JWT"}, mark=SIGNED)
    for value in (None, 5, True, ["RS256"], {"a": "RS256"}):
        yield f"alg {value!r}", unsigned({"alg": value}, mark=SIGNED)
    yield "good header, no signature", f"{HEAD}.{BODY}."


def confusions() -> Iterator[tuple[str, str]]:
    """A public key, which everybody has, as the secret of an HMAC."""
    der = base64.b64decode("".join(pem(rsa_key()).splitlines()[1:-1]))
    for name, text in (("RSA", pem(rsa_key())), ("EC", pem(ec_key())), ("Ed25519", pem(ed_key()))):
        for algorithm in ("HS256", "HS384", "HS512"):
            yield f"{algorithm} with the {name} key in PEM", forged(algorithm, text)
        yield f"HS256 with the {name} key in PEM, stripped", forged("HS256", text.strip())
        yield f"HS256 with the {name} key as its JSON", forged("HS256", json.dumps(jwk(rsa_key())))
    yield "HS256 with the RSA key in DER", forged("HS256", der)
    yield "HS256 with nothing", forged("HS256", b"")
    yield "a signature for RS256 under PS256", unsigned({"alg": "PS256"}, mark=SIGNED)
    yield "a good body under another header", f"{part({'alg': 'RS256', 'kid': 'k1'})}.{BODY}.{SIGNED}"
    for name in ("HS256", "PS256", "RS512", "ES256"):
        yield f"a header that says {name} over a signature for RS256", on(f"{part({'alg': name})}.{BODY}")
    yield "PS256 of the RS256 key", token(algorithm="PS256")
    yield "ES256K", unsigned({"alg": "ES256K"}, mark=SIGNED)
    yield "an algorithm in other letters", unsigned({"alg": "rs256"}, mark=SIGNED)


def strangers(trap: str) -> Iterator[tuple[str, str]]:
    """Keys of the sender's own, and ways to lead us to them."""
    own = jwk(OTHER, "k1")
    yield "another RSA key", forged("RS256", OTHER)
    yield "another RSA key by the name of a known one", forged("RS256", OTHER, kid="k1")
    yield "another EC key", forged("ES256", ec_key(number=1))
    yield "another Ed25519 key", forged("EdDSA", ed_key(1))
    yield "another secret", forged("HS256", SECRET[::-1])
    for name, value in {
        "jku": trap,
        "x5u": trap,
        "jwk": own,
        "x5c": [base64.b64encode(b"certificate").decode()],
        "x5t": "abc",
        "x5t#S256": "abc",
        "crit": ["exp"],
        "b64": False,
        "zip": "DEF",
        "cty": "JWT",
        "enc": "A128GCM",
        "epk": own,
        "url": trap,
        "keys": [own],
        "": "x",
    }.items():
        yield f"{name!r} in the header, signed by a stranger", forged("RS256", OTHER, **{name: value})
        yield f"{name!r} in the header, signed rightly", forged("RS256", rsa_key(), **{name: value})


KEY_IDS: tuple[Any, ...] = (
    *("../../../../dev/null", "../k1", "/dev/null", "/etc/passwd", "./k1", "k1/..", "file:///dev/null"),
    *("..\\..\\k1", "C:\\keys\\k1", "C:/keys/k1", "~/k1/", "k1' OR '1'='1", "k1; DROP TABLE keys", "k1\x00", "k1\n"),
    *("$(id)", "`id`", "k1 ", "", "k" * 129, "k" * 8000, "schlüssel", 1, True, None, 1.5, ["k1"], {"k1": 1}),
)


def names(trap: str) -> Iterator[tuple[str, str]]:
    """Like all that follow, signed by the real key, so that nothing but the one fault can be why they are refused."""
    for kid in (*KEY_IDS, trap):
        yield f"kid {str(kid)[:30]!r} ({type(kid).__name__})", token(more={"kid": kid})
    for kind in ("JWE", "logout+jwt", "dpop+jwt", "secevent+jwt", KIND, "", "jwt ", 5, None, ["JWT"]):
        yield f"typ {kind!r}", token(more={"typ": kind})


def ids() -> Iterator[tuple[str, str]]:
    for name in ("sub", "iss", "aud", "exp"):
        yield f"no {name}", token(claims(**{name: ...}))
    for value in (
        None,
        True,
        5,
        1.5,
        [],
        ["alice"],
        {},
        {"a": "alice"},
        "",
        " ",
        "a" * 256,
        "a\x00b",
        "a\nb",
        "\ud800",
    ):
        for name in ("sub", "session_id"):
            yield f"{name} {str(value)[:20]!r} ({type(value).__name__})", token(claims(**{name: value}))
    for path in (
        "../../etc",
        "/etc/passwd",
        "..",
        ".",
        "a/b",
        "a\\b",
        "..\\..",
        "..%2f..%2fetc",
        "a%5Cb",
        "a%00",
        " a",
        "a ",
    ):
        for name in ("sub", "session_id"):
            yield f"{name} {path!r}", token(claims(**{name: path}))
    yield "a session id of ours", token(claims(session_id=ONE_PER_USER))
    yield "another session id of ours", token(claims(session_id="bascule:other"))


def addressed_otherwise() -> Iterator[tuple[str, str]]:
    for issuer in ("https://evil.example", ISSUER + "/", ISSUER.upper(), "", None, 5, [ISSUER], {"a": ISSUER}):
        yield f"iss {issuer!r}", token(claims(iss=issuer))
    for audience in (
        "https://other.example",
        AUDIENCE + "/",
        AUDIENCE[:-1],
        "",
        "*",
        None,
        5,
        True,
        {},
        {AUDIENCE: 1},
        [],
    ):
        yield f"aud {audience!r}", token(claims(aud=audience))
    for listed in ([None, AUDIENCE], [AUDIENCE, 5], [[AUDIENCE]], ["a", "b"], [AUDIENCE] * 65):
        yield f"aud in a list {str(listed)[:40]}", token(claims(aud=listed))
    for scope in (5, None, {}, ["a"]):
        yield f"scope {scope!r}", token(claims(scope=scope))
    for bad_id in (5, None, ["x"]):
        yield f"jti {bad_id!r}", token(claims(jti=bad_id))


def untimely() -> Iterator[tuple[str, str]]:
    for name, changes in {
        "expired": {"exp": NOW - 60},
        "expired long ago": {"exp": 1},
        "not yet (nbf)": {"nbf": NOW + 60},
        "not yet issued": {"iat": NOW + 60},
        "for a year": {"exp": NOW + 365 * 86400},
        "for ever": {"exp": 1e300},
        "a huge whole number": {"exp": 10**400},
    }.items():
        yield name, token(claims(**changes))
    for value in (None, True, str(int(NOW + 600)), "never", [NOW + 600], {}, -1, -NOW):
        yield f"exp {value!r}", token(claims(exp=value))
    for name in ("nbf", "iat"):
        for value in (None, True, "0", [], {}, -1):
            yield f"{name} {value!r}", token(claims(**{name: value}))
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        body = json.dumps(claims(exp=0)).replace('"exp": 0', f'"exp": {number}')
        yield f"exp {number}", token(body)


def misshapen() -> Iterator[tuple[str, str]]:
    yield "one part", HEAD
    yield "two parts", f"{HEAD}.{BODY}"
    yield "four parts", f"{GOOD}.{SIGNED}"
    yield "five parts, as if encrypted", f"{GOOD}.{SIGNED}.{SIGNED}"
    yield "a dot before", f".{GOOD}"
    yield "a dot after", f"{GOOD}."
    yield "dots only", ".."
    yield "no header", f".{BODY}.{SIGNED}"
    yield "no body", on(f"{HEAD}.")
    yield "the signature cut off", GOOD[:-4]
    yield "the signature longer", f"{GOOD}AAAA"
    yield "another last letter", GOOD[:-1] + ("A" if GOOD[-1] != "A" else "B")
    for name, letters in {
        "padded": "=",
        "twice": "==",
        "a blank": " ",
        "a line": "\n",
        "plus": "+",
        "slash": "/",
    }.items():
        yield f"{name} behind the header", on(f"{HEAD}{letters}.{BODY}")
        yield f"{name} behind the body", on(f"{HEAD}.{BODY}{letters}")
        yield f"{name} behind the signature", GOOD + letters
        yield f"{name} before the token", letters + GOOD
    yield "left-over bits in the body", on(f"{HEAD}.{spelt_otherwise(part(json.dumps(claims()).encode()))}")
    yield "2 MB", token(claims(more="x" * 2_000_000))
    yield "17 KiB", token(claims(more="x" * 17 * 1024))
    yield "2 MB of dots", "." * 2_000_000
    yield "not a token", "alice"
    yield "a letter beyond ASCII in the body", f"{HEAD}.é{BODY}.{SIGNED}"
    yield "a lone surrogate in the body", f"{HEAD}.\ud800{BODY}.{SIGNED}"
    yield "letters beyond ASCII", GOOD.replace(".", "․")
    for name, raw in {
        "an array": b"[]",
        "text": b'"RS256"',
        "nothing": b"null",
        "not JSON": b"{",
        "not UTF-8": b'{"alg": "RS256", "kid": "\xff"}',
        "UTF-16": '{"alg": "RS256"}'.encode("utf-16"),
        "a byte order mark": b'\xef\xbb\xbf{"alg": "RS256"}',
        "alg twice": b'{"alg": "none", "alg": "RS256"}',
        "more behind it": b'{"alg": "RS256"} {}',
        "deep": b'{"alg":' + b"[" * 5000 + b"]" * 5000 + b"}",
    }.items():
        yield f"a header that is {name}", on(f"{part(raw)}.{BODY}")
    good = json.dumps(claims())
    for name, raw in {
        "an array": f"[{good}]".encode(),
        "text": json.dumps(good).encode(),
        "not JSON": good[:-1].encode(),
        "not UTF-8": good.replace("alice", "\udcff").encode("utf-8", "surrogateescape"),
        "sub twice": good.replace('"sub": "alice"', '"sub": "bob", "sub": "alice"').encode(),
        "exp twice": good.replace('"exp"', '"exp": 99999999999, "exp"').encode(),
        "twice inside": good.replace('"sub"', '"x": {"a": 1, "a": 2}, "sub"').encode(),
        "a nested token": GOOD.encode(),
        "no JSON for a number": good.replace('"sub"', '"x": NaN, "sub"').encode(),
        "deep": b'{"sub":' + b"[" * 5000 + b"]" * 5000 + b"}",
    }.items():
        yield f"a body that is {name}", on(f"{HEAD}.{part(raw)}")


def spelt_otherwise(text: str) -> str:
    """The same bytes in base64url, but for the bits that are thrown away."""
    assert len(text) % 4, "there are no bits left over"
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + letters[letters.index(text[-1]) + 1]


def psychic() -> Iterator[tuple[str, str]]:
    """Signatures made of numbers that must not occur."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    for r, s in ((0, 0), (0, 1), (1, 0), (order, order), (order, 0), (1, order)):
        mark = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        yield f"ES256 with r={r % 7}, s={s % 7}", unsigned({"alg": "ES256"}, mark=part(mark))
    for algorithm, size in (("ES384", 96), ("ES512", 132), ("EdDSA", 64), ("RS256", 256), ("HS256", 32)):
        yield f"{algorithm} with zeros", unsigned({"alg": algorithm}, mark=part(bytes(size)))
    yield "ES256 with one byte", unsigned({"alg": "ES256"}, mark=part(b"\0"))


def bad(trap: str) -> dict[str, str]:
    """All of them by what is wrong. `trap` is an address of the attacker's, where a server counts who comes."""
    groups = (nones(), confusions(), strangers(trap), names(trap), ids(), addressed_otherwise(), untimely())
    return {name: text for group in (*groups, misshapen(), psychic()) for name, text in group}


def test_there_are_enough_of_them():
    table = bad("http://127.0.0.1:1/")

    assert len(table) >= 250
    assert len({*table.values()}) >= len(table) - 5


@pytest.fixture
async def trap() -> AsyncGenerator[Lister]:
    """The attacker's own place, with the attacker's own key under the name of a real one."""
    async with listing(jwk(OTHER, "k1")) as lister:
        yield lister


@pytest.fixture
async def provider() -> AsyncGenerator[Lister]:
    async with listing(jwk(rsa_key(), "k1", alg="RS256"), jwk(ec_key(), "k2"), jwk(ed_key(), "k3")) as lister:
        yield lister


EXPECTED = Expected(issuer=ISSUER, audience=AUDIENCE)


def verifiers(provider: Lister) -> dict[str, Verifier | Verifiers]:
    clock = partial(float, NOW)
    several = (
        secret_key("HS256", SECRET),
        public_key("RS256", pem(rsa_key()), "k1"),
        public_key("ES256", pem(ec_key())),
        public_key("EdDSA", pem(ed_key())),
    )
    remote = RemoteKeys(partial(fetch_key_set, provider.url), ("RS256", "ES256", "EdDSA"))
    return {
        "RSA alone": Verifier((public_key("RS256", pem(rsa_key())),), EXPECTED, clock=clock),
        "several keys": Verifier(several, EXPECTED, clock=clock),
        "a set of keys": Verifier((), EXPECTED, remote=(remote,), clock=clock),
        "our own tokens": MINT.verifier(AUDIENCE),
        "both": Verifiers((Verifier(several, EXPECTED, clock=clock), MINT.verifier(AUDIENCE))),
    }


@pytest.mark.long
async def test_no_bad_token_is_believed_and_none_makes_us_fetch(trap: Lister, provider: Lister):
    believed: list[str] = []
    refusals: dict[str, NotIdentified] = {}
    for kind, verifier in verifiers(provider).items():
        for name, text in bad(trap.url).items():
            try:
                identity = await verifier.verify(text)
                believed.append(f"{name} by {kind}: {identity}")
            except NotIdentified as refusal:
                refusals[f"{name} by {kind}"] = refusal
        await verifier.aclose()

    assert believed == []
    assert trap.fetches == 0
    # Unknown names of keys may make us look once at the place that the operator named, and no more often.
    assert provider.fetches <= 2
    assert {*provider.paths} <= {"/jwks.json"}
    assert {refusal.error for refusal in refusals.values()} == {"invalid_token"}
    everything = "\n".join(f"{each} {each.evidence} {each.fix} {each!r} {each.__cause__}" for each in refusals.values())
    assert SECRET not in everything
    assert SIGNED[:20] not in everything
    assert BODY[:20] not in everything


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_a_good_token_of_each_algorithm_is_believed(algorithm: str):
    key = (
        secret_key(algorithm, SECRET) if algorithm.startswith("HS") else public_key(algorithm, pem(private(algorithm)))
    )
    verifier = Verifier((key,), EXPECTED, clock=lambda: NOW)

    identity = await verifier.verify(token(algorithm=algorithm))
    assert (identity.principal.user_id, identity.principal.session_id) == ("alice", "s-1")
    for other in ALGORITHMS:
        if other != algorithm:
            with pytest.raises(NotIdentified):
                await verifier.verify(token(algorithm=other))


async def test_every_verifier_of_the_table_believes_a_good_token(provider: Lister):
    for kind, verifier in verifiers(provider).items():
        own = MINT.token(Principal("alice", "s-1"), AUDIENCE)
        good = own if kind == "our own tokens" else token(more={"kid": "k1"})
        assert (await verifier.verify(good)).principal.user_id == "alice", kind
        await verifier.aclose()
