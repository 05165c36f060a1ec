"""What proves that a browser has shown the token."""

from bascule.config.secret import Secret
from bascule.dashboard.auth.cookies import AHEAD, LIFE, Badges

TOKEN = Secret("a-token-of-one's-own")


class Clock:
    """Time as a test wants it."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_only_the_token_is_the_token():
    badges = Badges(TOKEN, Clock())
    assert badges.is_token(TOKEN.reveal())
    for other in ("", TOKEN.reveal()[:-1], TOKEN.reveal() + "x", TOKEN.reveal().upper(), "\ud800", "ü"):
        assert not badges.is_token(other)


def test_a_badge_is_known_again_after_a_restart_and_to_every_worker():
    clock = Clock()
    badge = Badges(TOKEN, clock).issue()
    assert Badges(Secret(TOKEN.reveal()), clock).is_badge(badge)
    assert not Badges(Secret("another-token-altogether"), clock).is_badge(badge)


def test_a_badge_can_be_neither_made_nor_changed():
    badges = Badges(TOKEN, Clock())
    badge = badges.issue()
    at, nonce, digest = badge.split(".")
    assert badges.is_badge(badge)
    for forged in ("", ".", "..", f"{int(at) + 1}.{nonce}.{digest}", f"{at}.x.{digest}", f"{at}.{nonce}.", badge + "0"):
        assert not badges.is_badge(forged)
    assert badges.issue() != badge


def test_a_badge_ends():
    clock = Clock()
    badges = Badges(TOKEN, clock)
    badge = badges.issue()
    clock.now += LIFE - 1
    assert badges.is_badge(badge)
    clock.now += 1
    assert not badges.is_badge(badge)
    clock.now -= LIFE + AHEAD + 1
    assert not badges.is_badge(badge)


def test_a_mark_is_of_one_badge():
    badges = Badges(TOKEN, Clock())
    one, other = badges.issue(), badges.issue()
    assert badges.is_mark(one, badges.mark(one))
    assert not badges.is_mark(other, badges.mark(one))
    assert not badges.is_mark(one, "")
    assert not badges.is_mark(one, "\udcff")


def test_two_dashboards_on_one_machine_have_two_cookies():
    assert Badges(TOKEN, Clock()).cookie == Badges(TOKEN, Clock()).cookie
    assert Badges(TOKEN, Clock()).cookie != Badges(Secret("another-token-altogether"), Clock()).cookie
    assert TOKEN.reveal() not in Badges(TOKEN, Clock()).cookie
