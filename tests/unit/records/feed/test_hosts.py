"""Of a refused host only its end is kept."""

import pytest

from bascule.core.events import HostAsked
from bascule.records.audit.pseudonyms import Aliases
from bascule.records.feed.hosts import host_note, shown_host
from support.links import ALICE

ALIASES = Aliases(b"k" * 32)


@pytest.mark.parametrize(
    ("host", "shown"),
    [("evil.example", "evil.example"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "::1"), ("evil.example.", "evil.example")],
)
def test_a_short_name_or_an_address_is_shown(host: str, shown: str):
    assert shown_host(host, ALIASES) == shown


@pytest.mark.parametrize("host", ["canary", "canary.evil.example", f"{'canary' * 5}.example", "can ary.x", ""])
def test_the_rest_of_a_name_can_carry_anything_and_has_an_alias(host: str):
    shown = shown_host(host, ALIASES)
    assert shown.startswith("#")
    assert "canary" not in shown
    assert shown.endswith(".evil.example") is host.endswith(".evil.example")


@pytest.mark.parametrize(("refused", "shown"), [("", "canary.evil.example"), ("unlisted", "#")])
def test_a_host_that_was_let_through_is_kept_as_it_is(refused: str, shown: str):
    event = HostAsked("work", ALICE, "canary.evil.example", 443, refused, 200, 1, 2, ended=True, at=3.0)
    assert host_note(event, ALIASES).host.startswith(shown)
