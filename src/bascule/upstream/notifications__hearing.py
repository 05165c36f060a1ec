"""Who is told what servers say unasked, beside that their lists have changed."""

from typing import Protocol

from bascule.core.json_types import JsonObject
from bascule.core.log_listener import Ear
from bascule.upstream.key import LinkKey


class Hears(Protocol):
    """Somebody who listens on all links. None of these may block."""

    def updated(self, key: LinkKey, uri: str) -> None:
        """The server says that a resource has changed."""
        ...

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None:
        """The server remarks something: in the course of the request for which somebody listens, if `ear` is given."""
        ...

    def finished(self, key: LinkKey, theirs: str) -> bool:
        """The server says that a person has finished at an address to which it sent them under this id of its own.
        Whether anybody knows of it."""
        ...

    def level(self, key: LinkKey) -> str:
        """The lowest level at which anybody wants to hear remarks on this link. Empty, if nobody has said."""
        ...


class Unheard:
    """Nobody."""

    def updated(self, key: LinkKey, uri: str) -> None: ...

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None: ...

    def finished(self, key: LinkKey, theirs: str) -> bool:  # noqa: ARG002
        return False

    def level(self, key: LinkKey) -> str:  # noqa: ARG002
        return ""


UNHEARD: Hears = Unheard()
