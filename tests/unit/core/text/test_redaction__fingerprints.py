"""Secrets are found again by what is kept of them, however many there are."""

import pytest

from bascule.core.text.redaction import FEW, Fingerprints

JWT = "eyJhbGciOiJIUzI1NiJ9"


def found(known: Fingerprints, text: str) -> list[str]:
    return sorted(text[begins:ends] for begins, ends in known.spans(text))


def knowing(*secrets: str, most: int = 1000) -> Fingerprints:
    known = Fingerprints(most)
    for secret in secrets:
        known.add(secret)
    return known


def test_a_secret_is_found_wherever_it_stands():
    known = knowing("hunter2-hunter2")

    assert found(known, "hunter2-hunter2 and <hunter2-hunter2>.") == ["hunter2-hunter2"] * 2
    assert found(known, "hunter2-hunter3 hunter2-h unter2") == []
    assert found(known, "short") == []


def test_nothing_is_found_by_who_knows_nothing():
    assert not knowing()
    assert knowing("hunter2-hunter2")
    assert found(knowing(), "hunter2-hunter2") == []


def test_secrets_that_begin_alike_are_told_apart():
    known = knowing(f"{JWT}.ada", f"{JWT}.ada-longer", f"{JWT}.bob")

    assert found(known, f"{JWT}.bob ") == [f"{JWT}.bob"]
    assert found(known, f"{JWT}.ada-longer ") == [f"{JWT}.ada", f"{JWT}.ada-longer"]
    assert found(known, f"{JWT}.eve ") == []


@pytest.mark.parametrize("many", [1, FEW + 1])
def test_a_beginning_at_the_end_of_a_text_is_found(many: int):
    known = knowing(*(f"{number:08}-hunter2-hunter2" for number in range(many)))

    assert found(known, "it was 00000000-hun") == ["00000000-hun"]
    assert found(known, "it was 00000000-hun…") == ["00000000-hun…"]
    assert found(known, "00000000-hun it was") == []


def test_as_many_as_are_promised_are_known_and_older_ones_are_given_up():
    known = knowing(*(f"{number:08}-secret" for number in range(35)), most=10)

    assert [n for n in range(35) if found(known, f"<{n:08}-secret>")] == [*range(20, 35)]


def test_a_secret_that_is_met_again_counts_as_new():
    known = knowing(*(f"{number:08}-secret" for number in range(10)), most=10)
    known.add("00000000-secret")
    for number in range(10, 20):
        known.add(f"{number:08}-secret")
    known.add("00000000-secret")
    for number in range(20, 25):
        known.add(f"{number:08}-secret")

    assert found(known, "<00000000-secret>")


def test_the_secrets_themselves_are_not_kept():
    known = knowing("hunter2-and-all-that")

    assert "and-all-that" not in str([getattr(known, name) for name in known.__slots__])
