"""How a native tool tells how far it has come."""

from collections.abc import Callable


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
