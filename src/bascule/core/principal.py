"""Principal: the user and agent session on whose behalf a request runs."""

import msgspec

from bascule.core.errors import UsageError

MAX_ID = 255
"""Longest user or session id. Identity providers stay far below; a longer one is a mistake or an attack."""


class Principal(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """One user in one agent session."""

    user_id: str
    session_id: str

    def __post_init__(self) -> None:
        for field, value in (("user_id", self.user_id), ("session_id", self.session_id)):
            if not 1 <= len(value) <= MAX_ID or not value.isprintable():
                raise UsageError(
                    f"{field} must be 1 to {MAX_ID} printable characters, not {value[:40]!r}",
                    fix=f"pass the id your identity provider gives, as {field}=…",
                )

    def __str__(self) -> str:
        return f"{self.user_id}/{self.session_id}"


class Nobody(Principal, frozen=True, order=True, cache_hash=True, gc=False):
    """A principal that is no user's, whatever they call themselves: another type is never equal."""
