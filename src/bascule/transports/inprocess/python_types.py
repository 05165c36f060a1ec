"""Types for Python tools: `Progress`, through which a function reports progress, and `Media`, for bytes that it
returns."""

from collections.abc import Callable
from dataclasses import dataclass


class Progress:
    """Tells the caller how far a tool has come. A function that wants it takes a parameter of this type, which no model
    sees; it may be called from any thread."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[float, float | None, str | None], None]) -> None:
        self._tell = tell

    def __call__(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        self._tell(progress, total, message)


def unheard(_progress: float, _total: float | None, _message: str | None) -> None:
    """For a call of somebody who does not want to know."""


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes that a native tool gives back: an image, a sound, or any other file."""

    data: bytes
    mime_type: str
    name: str = "result"
    """What a file is called that is neither image nor sound."""
