"""Redaction of secrets, and their fingerprints."""

import pytest

from bascule.core.errors import ConnectFailed, PeerRefused
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.text.redaction import FEW, Fingerprints, Mask

TOKEN = "ghx-0123456789abcdef"


def test_a_secret_is_taken_out_of_a_text():
    assert Mask([TOKEN]).text(f"bad token {TOKEN}, twice {TOKEN}") == "bad token ***, twice ***"


def test_a_header_is_hidden_whole_and_in_its_part():
    mask = Mask([f"Bearer {TOKEN}"])
    assert mask.text(f"got Bearer {TOKEN}") == "got ***"
    assert mask.text(f"got {TOKEN}") == "got ***"


def test_a_secret_inside_another_leaves_nothing_of_the_longer_one():
    assert Mask(["abcdefgh", "abcdefgh-ijkl"]).text("x abcdefgh-ijkl x") == "x *** x"


def test_short_values_are_left_readable():
    assert Mask(["true", "8080"]).text("debug is true on 8080") == "debug is true on 8080"


def test_every_text_of_a_value_is_masked_keys_too():
    value = {"a": [TOKEN, 1, None], TOKEN: {"b": f"<{TOKEN}>"}}
    assert Mask([TOKEN]).value(value) == {"a": ["***", 1, None], "***": {"b": "<***>"}}


def test_an_error_is_told_without_the_secret_in_any_of_its_parts():
    error = PeerRefused(f"bad {TOKEN}", rpc_code=1, data={"token": TOKEN})
    error.evidence = error.cause = error.fix = error.where = f"saw {TOKEN}"
    masked = Mask([TOKEN]).error(error)
    assert masked is error
    assert (
        TOKEN
        not in f"{masked} {masked.message} {masked.evidence} {masked.cause} {error.data} {masked!r} {masked.fix} {masked.where}"
    )


def test_a_tools_own_error_is_told_without_the_secret():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-701", f"bad {TOKEN}", cause={"token": TOKEN}, server="s")
    masked = Mask([TOKEN]).failure(failure)
    assert TOKEN not in repr(masked)
    assert (masked.kind, masked.server) == (FailureKind.TOOL_ERROR, "s")


def test_without_secrets_nothing_is_touched():
    error, failure = ConnectFailed("x"), ToolFailure(FailureKind.TIMEOUT, "BSC-403", "x")
    assert Mask().error(error) is error
    assert Mask().failure(failure) is failure


def test_a_secret_learned_later_is_hidden_from_then_on():
    mask = Mask([TOKEN])
    mask.learn("an-access-token", f"{TOKEN}-longer")
    assert mask.text(f"an-access-token {TOKEN} {TOKEN}-longer") == "*** *** ***"
    assert mask.error(ConnectFailed("bad an-access-token")).message == "bad ***"


def test_what_one_user_was_given_is_hidden_after_a_thousand_others_have_logged_in():
    mask = Mask([TOKEN])
    for number in range(1000):
        mask.learn(f"Bearer token-of-user-{number}-")

    for number in range(1000):
        assert mask.text(f"user {number}: token-of-user-{number}- is bad") == f"user {number}: *** is bad"
    assert mask.text(f"{TOKEN} token-of-user-0- token-of-user-999-") == "*** *** ***"


def test_secrets_that_overlap_leave_nothing_of_either():
    mask = Mask(["one-secret-and"])
    mask.learn("and-another-one")

    assert mask.text("<one-secret-and-another-one>") == "<***>"


def test_what_another_mask_hid_is_hidden_by_all_that_come_after_it():
    first, second, third = Mask(["first-secret"]), Mask(["second-secret"]), Mask(["third-secret"])
    first.learn("learned-secret")
    second.succeed(first)
    third.succeed(second)

    assert second.text("first-secret learned-secret second-secret") == "*** *** ***"
    second.learn("learned-later")
    assert second.text("first-secret learned-later") == "*** ***"
    assert third.text("first-secret second-secret third-secret") == "*** *** ***"
    first.learn("learned-by-the-first-while-it-ends")
    assert third.text("learned-later learned-by-the-first-while-it-ends") == "*** ***"


def test_a_code_of_the_tool_that_holds_a_secret_is_told_without_it():
    failure = ToolFailure(FailureKind.TOOL_ERROR, "BSC-700", "no", tool_code="hunter-2222")

    assert Mask(["hunter-2222"]).failure(failure).tool_code == "***"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it was hunter2-and-more", "it was ***"),
        ("it was hunter2-and-", "it was ***"),
        ("it was hunter2-…", "it was ***"),
        ("it was hunter2-, I think", "it was hunter2-, I think"),
        ("it was hunter2", "it was hunter2"),
        ("hunter2-and-", "***"),
        ("hunter2-and-more hunter2-an", "*** ***"),
    ],
)
def test_a_secret_that_was_cut_off_at_the_end_of_a_text_is_hidden_too(text: str, shown: str):
    assert Mask(["hunter2-and-more"]).text(text) == shown


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
