"""Interface of the credentials of HTTP requests: the `Authorization` header, its preparation and its renewal."""

from collections.abc import Mapping
from typing import Protocol

from bascule.core.errors import LoginNeeded
from bascule.core.request import Permit
from bascule.identity.oauth.challenge import Challenge


class SaysWho(Protocol):
    """The header `Authorization`, and how to come by another one."""

    @property
    def others(self) -> Mapping[str, str]:
        """Headers that go with it."""
        ...

    def header(self) -> str | None:
        """What to send, from memory; empty for nothing. None: it has to be prepared first."""
        ...

    async def prepare(self, leave: Permit | None = None, /) -> str:
        """The header, after whatever has to be done for it. Nothing is written to anybody without `leave`."""
        ...

    async def renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None = None) -> None:
        """Get another header in the place of `used`, which was refused; `again`, if that had been renewed for the same
        request. Raises `LoginNeeded` where only a person can."""
        ...

    def needed(self, used: str, challenge: Challenge) -> LoginNeeded:
        """Why there is no other."""
        ...
