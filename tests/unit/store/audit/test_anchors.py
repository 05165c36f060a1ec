"""Anchors as they are sealed: only who has the key can make one."""

import pytest

from bascule.store.audit.anchors import Anchor, read_anchor, seal_anchor

KEY, OTHER = b"k" * 32, b"o" * 32
ANCHOR = Anchor("0123456789abcdef-0001", 7, "ab" * 32, 5.0)


def test_what_was_sealed_is_read():
    assert read_anchor(seal_anchor(ANCHOR, KEY), KEY) == ANCHOR


def test_what_was_sealed_with_another_key_is_none():
    assert read_anchor(seal_anchor(ANCHOR, OTHER), KEY) is None


def test_no_byte_of_it_can_be_altered():
    sealed = seal_anchor(ANCHOR, KEY)
    for place in range(len(sealed)):
        altered = bytearray(sealed)
        altered[place] ^= 1
        assert read_anchor(bytes(altered), KEY) is None


@pytest.mark.parametrize("found", [b"", b"x" * 64, b"x" * 80, "text", None, 7])
def test_what_a_damaged_database_gives_back_is_none(found: object):
    assert read_anchor(found, KEY) is None


def test_an_honest_word_of_another_version_is_none():
    import hmac

    body = b'["w","not a number"]'
    mac = hmac.digest(KEY, b"bascule audit anchor\n" + body, "sha256").hex().encode()

    assert read_anchor(mac + b" " + body, KEY) is None
