"""Good tokens with something changed anywhere. The signature is over all of it, so none of them is believed."""

from random import Random

import pytest

from bascule.core.errors import NotIdentified
from bascule.identity.jwt.claims import Expected
from bascule.identity.jwt.keys import public_key, secret_key
from bascule.identity.jwt.verifier import Verifier
from support.tokens import AUDIENCE, ISSUER, NOW, SECRET, pem, private, token

LETTERS = "ABCXYZabcxyz0189-_.=+/ \n\0é"
EXPECTED = Expected(issuer=ISSUER, audience=AUDIENCE)


def verifier(algorithm: str) -> Verifier:
    key = secret_key(algorithm, SECRET) if algorithm == "HS256" else public_key(algorithm, pem(private(algorithm)))
    return Verifier((key,), EXPECTED, clock=lambda: NOW)


async def is_believed(verifier: Verifier, text: str) -> bool:
    try:
        await verifier.verify(text)
    except NotIdentified:
        return False
    return True


@pytest.mark.parametrize("algorithm", ["HS256", "ES256", "EdDSA", "RS256"])
async def test_no_change_of_one_letter_is_believed(algorithm: str, scale: int):
    good, judge, random = token(algorithm=algorithm), verifier(algorithm), Random(algorithm)
    assert await is_believed(judge, good)

    for place in range(len(good)):
        for letter in random.sample(LETTERS, 2 * scale):
            changed = good[:place] + letter + good[place + 1 :]
            assert changed == good or not await is_believed(judge, changed), (place, letter)


async def test_no_part_of_a_token_is_believed(scale: int):
    good, judge, random = token(algorithm="HS256"), verifier("HS256"), Random(1)

    for cut in range(len(good)):
        assert not await is_believed(judge, good[:cut])
        assert not await is_believed(judge, good[cut + 1 :])
    for _ in range(200 * scale):
        start, end = sorted(random.sample(range(len(good)), 2))
        # Something taken out, doubled, or turned round.
        for piece in ("", good[start:end] * 2, good[start:end][::-1]):
            changed = good[:start] + piece + good[end:]
            assert changed == good or not await is_believed(judge, changed), changed


async def test_parts_of_two_good_tokens_make_no_third():
    one, other = (token({**_claims(), "sub": name}, algorithm="HS256").split(".") for name in ("alice", "bob"))
    judge = verifier("HS256")

    for mixed in ((one[0], other[1], one[2]), (other[0], one[1], other[2]), (one[1], one[0], one[2])):
        assert not await is_believed(judge, ".".join(mixed))


def _claims() -> dict[str, object]:
    return {"iss": ISSUER, "aud": AUDIENCE, "session_id": "s-1", "exp": NOW + 600}
