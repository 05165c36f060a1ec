"""`UNSET`, the value of an argument that was not given. None cannot serve: it is JSON's `null`, which a tool may
accept."""

from enum import Enum
from typing import Final, Literal


class Unset(Enum):
    """The type of `UNSET`, for annotations: `labels: list[str] | Unset = UNSET`."""

    # No text and no number: should it get into arguments by mistake, they are no JSON, and nothing is sent.
    UNSET = ...

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET
"""Not given, so it does not travel."""
