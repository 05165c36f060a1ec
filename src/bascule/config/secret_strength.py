"""Strength check for token signing secrets: length, distinct characters, and copies of published examples."""

import re
from itertools import pairwise

LEAST = {"HS256": 32, "HS384": 48, "HS512": 64}
"""Bytes, by algorithm: a secret shorter than the hash is easier to find than a forged signature."""

DISTINCT = 8
"""Different characters. Sixteen random bytes written in hex have fewer once in ten million times."""

ADVICE = "make one with `openssl rand -base64 48`"

_WORDS = re.compile(
    "|".join(
        sorted(
            {
                *("secret", "password", "passw0rd", "passphrase", "changeme", "changethis", "changeit", "replace"),
                *("example", "default", "placeholder", "insecure", "development", "production", "testing", "sample"),
                *("qwerty", "letmein", "string", "atleast", "characters", "minimum", "longenough", "signing", "please"),
                *("your256bit", "your384bit", "your512bit", "256bits", "384bits", "512bits", "256bit", "384bit"),
                *("512bit", "privatekey", "signature", "verylong", "symmetric", "somekey", "secure", "supersecret"),
            },
            key=len,
            reverse=True,
        )
    )
)
"""What people write where a secret is asked for. All have six letters or more: chance writes such a word once in
millions of secrets, and even then a secret that is long enough without it will do."""

_PUBLISHED = frozenset({"AyM1SysPpbyDfZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"})
"""Secrets that look random and stand in a standard (RFC 7515, A.1)."""


def secret_flaw(secret: str | bytes, algorithm: str) -> str | None:
    """What is wrong with a secret, in words that say nothing of it; None if it will do."""
    data = secret_bytes(secret)
    if data is None:
        return "has characters that stand for no bytes"
    text, length = secret.decode("latin-1") if isinstance(secret, bytes) else secret, len(data)
    if length < LEAST[algorithm]:
        return f"has {length} bytes; {algorithm} needs {LEAST[algorithm]} at least: {ADVICE}"
    if _is_made_of_little(text):
        return f"repeats itself, or counts up: {ADVICE}"
    if text in _PUBLISHED or _is_an_example(text, length - LEAST[algorithm]):
        return f"is an example that everybody knows, or words around one: {ADVICE}"
    return None


def secret_bytes(secret: str | bytes) -> bytes | None:
    """The bytes that tokens are signed with; None for a text that stands for none. What the environment holds beyond
    UTF-8 comes as lone surrogates, and goes back to the bytes it was."""
    try:
        return secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _is_made_of_little(text: str) -> bool:
    codes = [ord(letter) for letter in text]
    near = sum(abs(after - before) <= 1 for before, after in pairwise(codes))
    return len(set(codes)) < DISTINCT or near * 3 >= len(codes) * 2 or _is_repeated(text)


def _is_repeated(text: str) -> bool:
    """Whether it is one beginning, written again and again; the last time it may be cut off."""
    return any(text == (text[:unit] * (len(text) // unit + 1))[: len(text)] for unit in range(1, len(text) // 2 + 1))


def _is_an_example(text: str, spare: int) -> bool:
    """Whether what is left without the words of examples would not do as a secret. `spare` is what it has too much."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower())
    rest = _WORDS.sub("", plain)
    return rest != plain and (len(plain) - len(rest) > spare or _is_made_of_little(rest))
