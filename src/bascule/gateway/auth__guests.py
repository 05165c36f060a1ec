"""Agent sessions beside the one that stands for everybody, where a gateway is only tried out on one machine."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from bascule.core.principal import Principal


class Guests:
    """Each is known by a word that was made here and given to nobody else. Other words make nobody a guest."""

    def __init__(self) -> None:
        self._principals: dict[str, Principal] = {}

    def who(self, authorization: str) -> Principal | None:
        return self._principals.get(authorization)

    @contextmanager
    def invited(self, principal: Principal) -> Generator[str]:
        """Its `Authorization` header, which counts until the end of the block."""
        word = f"Bearer {secrets.token_urlsafe(32)}"
        self._principals[word] = principal
        try:
            yield word
        finally:
            del self._principals[word]
