"""How private one agent session has become. It only ever rises."""

from bascule.core.sensitivity import DataSensitivity, Lane, lane_for


class Ratchet:
    """The level of one agent session, with an epoch that moves at every raise.

    A decision is good only for the epoch in which it was made; a permit carries that epoch to the write.
    """

    __slots__ = ("epoch", "lane", "level")

    def __init__(self, level: DataSensitivity = DataSensitivity.PUBLIC) -> None:
        self.level = level
        self.lane: Lane = lane_for(level)
        self.epoch = 0

    def raise_to(self, level: DataSensitivity) -> bool:
        """Move up, never down. Whether it moved."""
        if level <= self.level:
            return False
        self.level = level
        self.lane = lane_for(level)
        self.epoch += 1
        return True

    def permit(self) -> "EpochPermit":
        return EpochPermit(self)


class EpochPermit:
    """Leave to write, for as long as the agent session stays as it was when this was given."""

    __slots__ = ("_epoch", "_ratchet")

    def __init__(self, ratchet: Ratchet) -> None:
        self._ratchet = ratchet
        self._epoch = ratchet.epoch

    def valid(self) -> bool:
        return self._ratchet.epoch == self._epoch
