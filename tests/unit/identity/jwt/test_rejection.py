"""How a token that is not believed is told."""

from bascule.identity.jwt.rejection import not_believed


def test_a_refusal_names_its_rule_and_what_to_do():
    refusal = not_believed("its time is up", "token_expired")

    assert refusal.message == "the token is not believed: its time is up"
    assert (refusal.code, refusal.rule, refusal.error) == ("BSC-305", "token_expired", "invalid_token")
    assert refusal.fix
    assert not_believed("x", "y", fix="get a new one").fix == "get a new one"
