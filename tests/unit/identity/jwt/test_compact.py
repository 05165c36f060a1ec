"""A token taken apart. What must be refused is tried by the hundred in tests/hostile/test_tokens.py."""

import pytest

from bascule.core.errors import NotIdentified
from bascule.identity.jwt.compact import LONGEST, read_body, read_compact
from support.tokens import claims, part, token

GOOD = token(algorithm="HS256")


def test_a_token_is_taken_apart():
    compact = read_compact(token(more={"kid": "k1"}))

    assert (compact.algorithm, compact.kind, compact.kid) == ("RS256", "jwt", "k1")
    assert read_body(compact) == claims()
    assert compact.signed.count(b".") == 1
    assert len(compact.signature) == 256


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ({"alg": "RS256"}, "jwt"),
        ({"alg": "RS256", "typ": "jwt"}, "jwt"),
        ({"alg": "RS256", "typ": "at+JWT"}, "at+jwt"),
        ({"alg": "RS256", "typ": "application/at+jwt"}, "at+jwt"),
    ],
)
def test_its_type_is_known_in_every_spelling(header: dict[str, str], kind: str):
    assert read_compact(token(header=header)).kind == kind


@pytest.mark.parametrize("kid", ["k1", "a+b/c=", "/starts+with/a/slash=", "urn:key:1", "auth0|1", "k" * 128])
def test_ids_of_keys_may_look_as_providers_write_them(kid: str):
    assert read_compact(token(more={"kid": kid})).kid == kid


@pytest.mark.parametrize("kid", ["..", "../k", "a/../b", "a/./b", "k 1", "k'1", "k" * 129, ""])
def test_ids_that_climb_or_are_no_ids_are_refused(kid: str):
    with pytest.raises(NotIdentified, match="names a key in a way"):
        read_compact(token(more={"kid": kid}))


def test_the_header_is_judged_before_the_body_is_looked_at():
    with pytest.raises(NotIdentified) as refused:
        read_compact(f"{part({'alg': 'RS256', 'jku': 'x'})}.***.***")

    assert refused.value.rule == "token_header"


def test_the_length_is_judged_before_anything_else():
    with pytest.raises(NotIdentified) as refused:
        read_compact("." * (LONGEST + 1))

    assert refused.value.rule == "token_length"


def test_a_token_is_not_shown():
    shown = repr(read_compact(token()))

    assert shown == "Compact('RS256', 'jwt')"


@pytest.mark.parametrize(
    "text",
    [
        "a.b",
        "a.b.c.d",
        f"{GOOD}=",
        f"{GOOD}é",
        f"{part({'alg': 5})}.e30.e30",
        f"{part({'alg': 'RS256', 'typ': 5})}.e30.e30",
        f"{part(b'[]')}.e30.e30",
        f"{part(b'{')}.e30.e30",
        f"{part(b'{}') + 'A'}.e30.e30",
        f"{part({'alg': 'RS256'})}.e31.e30",
        part(b'{"alg": "RS256", "alg": "RS256"}') + ".e30.e30",
        part(b'{"alg": NaN}') + ".e30.e30",
    ],
)
def test_what_is_not_written_as_the_standard_says_is_refused(text: str):
    with pytest.raises(NotIdentified):
        read_compact(text)
