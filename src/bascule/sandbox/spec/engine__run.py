"""What is to run in a container, as data: for who makes containers, and for who speaks to what runs in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_NO_NAMES = dict[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """What to run in which container: argv, never a shell line, and what is added to the container's environment."""

    container: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=_NO_NAMES, repr=False)
    cwd: str | None = None
