"""How much of the gateway one principal may have at once."""

from bascule.core.errors import BasculeError

MOST_UNDER_WAY = 256
"""Requests of one principal that may be under way, streams included. An agent has a handful, and each server takes 16
of its calls at a time. More would only wait here, in memory that is everybody's."""

MOST_OF_EVERYBODY = 4096
"""The same where one principal stands for everybody on this machine: as many as there may be connections."""

PER_SECOND = 2000
"""Requests of one principal that are taken within one second. Who asks for one thing after the other comes to half of
it; a worker answers some thousands, so others are served beside whoever asks for all it can."""


class TooMuch(BasculeError):
    """More than one principal, or one address, may have. `retry_after` is in whole seconds."""

    code = "BSC-716"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, fix=f"come back in {retry_after} s, and ask for less at once")
        self.retry_after = retry_after


class Allowance:
    """What one principal has at this moment. Who has entered must leave."""

    __slots__ = ("_asked", "_second", "aside", "everybody", "held", "most", "per_second", "under_way", "used")

    def __init__(self, *, everybody: bool = False) -> None:
        """Where one principal stands for `everybody`, nobody could be told from anybody else."""
        self.everybody = everybody
        self.per_second = None if everybody else PER_SECOND
        self.most = MOST_OF_EVERYBODY if everybody else MOST_UNDER_WAY
        self.under_way = 0
        self.used = 0.0
        """When it last asked."""
        self.held = 0
        """Bytes of the room for large bodies."""
        self.aside = 0
        """Bytes of those whose requests wait for another one of the same client."""
        self._second = 0
        self._asked = 0

    def enter(self, now: float) -> None:
        """Raises `TooMuch`, and has counted nothing as under way then."""
        self.used = now
        if self.under_way >= self.most:
            raise TooMuch(f"{self.under_way} requests of this agent session are under way, and no more may be")
        if self.per_second is not None:
            second = int(now)
            if second != self._second:
                self._second, self._asked = second, 0
            self._asked += 1
            if self._asked > self.per_second:
                raise TooMuch(f"this agent session has asked {self.per_second} times within a second")
        self.under_way += 1

    def leave(self) -> None:
        self.under_way -= 1

    def hold(self, size: int, most: float) -> None:
        """Take a part of the room for large bodies. Raises `TooMuch`."""
        if self.held + size > most:
            raise TooMuch(f"large bodies of this agent session may take {most} bytes at once")
        self.held += size

    def let_go(self, size: int) -> None:
        self.held -= size
