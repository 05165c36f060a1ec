"""Whether a secret can be guessed."""

import secrets

import pytest

from bascule.config.secret_strength import ADVICE, LEAST, secret_bytes, secret_flaw


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        ("short", "has 5 bytes"),
        ("ü" * 15, "has 30 bytes"),
        ("a" * 64, "repeats itself"),
        ("abcd" * 16, "repeats itself"),
        ("Kq8zR2vX" * 5 + "Kq8z", "repeats itself"),
        ("abcdefghijklmnopqrstuvwxyz0123456789", "repeats itself, or counts up"),
        ("your-256-bit-secret-for-signing-tokens", "is an example"),
        ("ChangeMe_ChangeMe-changeme.changeme!", "is an example"),
        ("secret-" + "xyxz" * 10 + "-Kq8", "is an example"),
        ("Kq8zR2vXw7TnYb4m-change-me-password", "is an example"),
    ],
)
def test_a_guessable_secret_is_told(secret: str, told: str):
    flaw = secret_flaw(secret, "HS256")

    assert flaw is not None
    assert flaw.startswith(told)
    assert flaw.endswith(ADVICE)


@pytest.mark.parametrize("algorithm", LEAST)
def test_random_secrets_will_do(algorithm: str):
    size = LEAST[algorithm]
    for _ in range(2000):
        for secret in (secrets.token_urlsafe(size), secrets.token_bytes(size), secrets.token_hex(size // 2)):
            assert secret_flaw(secret, algorithm) is None, secret


def test_each_algorithm_wants_as_much_as_its_hash_is_long():
    secret = secrets.token_hex(20)

    assert secret_flaw(secret, "HS256") is None
    assert secret_flaw(secret, "HS384") is not None
    assert secret_flaw(secret + secrets.token_hex(8), "HS512") is not None


def test_a_word_around_a_real_secret_does_no_harm():
    assert secret_flaw(f"secret_{secrets.token_hex(32)}", "HS256") is None


def test_what_the_environment_holds_beyond_utf8_is_the_bytes_it_was():
    raw = bytes(range(0x80, 0xC0))

    assert secret_bytes(raw.decode("utf-8", "surrogateescape")) == raw
    assert secret_flaw("\ud800" + secrets.token_hex(32), "HS256") == "has characters that stand for no bytes"
