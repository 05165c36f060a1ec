"""Who shows a token, decided."""

from functools import partial

import pytest

from bascule.core.errors import ConfigError, NotIdentified
from bascule.identity.jwt.claims import Expected
from bascule.identity.jwt.keys import Key, public_key, secret_key
from bascule.identity.jwt.remote_jwks import RemoteKeys, fetch_key_set
from bascule.identity.jwt.verifier import Verifier, Verifiers
from support.tokens import AUDIENCE, ISSUER, NOW, SECRET, jwk, listing, pem, rsa_key, token

EXPECTED = Expected(issuer=ISSUER, audience=AUDIENCE)
RSA = public_key("RS256", pem(rsa_key()), "k1")


def verifier(*keys: Key, remote: RemoteKeys | None = None) -> Verifier:
    return Verifier(keys, EXPECTED, remote=() if remote is None else (remote,), clock=lambda: NOW)


async def test_a_good_token_says_who_asks():
    identity = await verifier(RSA).verify(token())

    assert str(identity.principal) == "alice/s-1"


@pytest.mark.parametrize("shown", [None, ""])
async def test_no_token_is_another_refusal_than_a_bad_one(shown: str | None):
    with pytest.raises(NotIdentified) as refused:
        await verifier(RSA).verify(shown)

    assert (refused.value.rule, refused.value.error) == ("token_shown", "")


async def test_a_key_is_chosen_by_its_name_and_never_by_what_else_is_in_the_token():
    both = verifier(RSA, public_key("RS256", pem(rsa_key(number=1)), "k2"))

    assert await both.verify(token(more={"kid": "k2"}, key=rsa_key(number=1)))
    assert await both.verify(token(key=rsa_key(number=1)))
    for kid in ("k1", "k3"):
        with pytest.raises(NotIdentified) as refused:
            await both.verify(token(more={"kid": kid}, key=rsa_key(number=1)))
        assert refused.value.rule == "token_signature"


async def test_claims_are_not_read_before_the_signature_is_verified():
    with pytest.raises(NotIdentified) as refused:
        await verifier(RSA).verify(token("not JSON at all", key=rsa_key(number=1)))

    assert refused.value.rule == "token_signature"


def test_a_verifier_needs_a_key():
    with pytest.raises(ConfigError, match="without a key"):
        verifier()


def test_a_verifier_has_one_algorithm_for_each_key():
    with pytest.raises(ConfigError, match="one key is given for"):
        verifier(RSA, public_key("PS256", pem(rsa_key())))


async def test_listed_keys_serve_where_no_given_one_does_and_follow_a_rotation():
    async with listing(jwk(rsa_key(number=2), "k2")) as lister:
        now = [0.0]
        remote = RemoteKeys(partial(fetch_key_set, lister.url), ("RS256",), lambda: now[0])
        both = verifier(RSA, remote=remote)

        assert await both.verify(token(more={"kid": "k1"}))
        assert lister.fetches == 0
        assert await both.verify(token(more={"kid": "k2"}, key=rsa_key(number=2)))
        lister.keys = [jwk(rsa_key(number=3), "k3")]
        now[0] = 20.0
        assert await both.verify(token(more={"kid": "k3"}, key=rsa_key(number=3)))
        with pytest.raises(NotIdentified):
            await both.verify(token(more={"kid": "k2"}, key=rsa_key(number=2)))
        assert lister.fetches == 2
        await both.aclose()


async def test_an_algorithm_that_is_not_of_the_set_makes_nobody_fetch():
    async with listing(jwk(rsa_key(), "k1")) as lister:
        remote = RemoteKeys(partial(fetch_key_set, lister.url), ("RS256",))
        for algorithm in ("HS256", "PS256", "ES256"):
            with pytest.raises(NotIdentified):
                await verifier(remote=remote).verify(token(algorithm=algorithm, more={"kid": "k1"}))

        assert lister.fetches == 0


async def test_several_verifiers_are_told_apart_by_the_type_of_token():
    ours = Verifier((secret_key("HS256", SECRET),), EXPECTED, kinds=frozenset({"own+jwt"}), clock=lambda: NOW)
    both = Verifiers((verifier(RSA), ours))

    assert await both.verify(token())
    assert await both.verify(token(algorithm="HS256", more={"typ": "own+jwt"}))
    for crossed in (token(algorithm="HS256"), token(more={"typ": "own+jwt"}), token(more={"typ": "x"})):
        with pytest.raises(NotIdentified):
            await both.verify(crossed)
    await both.aclose()


def test_two_verifiers_for_the_same_tokens_are_a_mistake():
    with pytest.raises(ConfigError, match="the same tokens"):
        Verifiers((verifier(RSA), verifier(RSA)))
