"""Ratchet: the sensitivity level of one agent session, which only rises. Only an operator lowers it."""

import msgspec

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane, is_wider, lane_for
from bascule.store.levels.interface import SessionRecord

UNKNOWN = "it is not known yet how private this agent session is"


class Ratchet:
    """The level of one agent session in this process, with an epoch that moves with its lane, and when it is lowered.

    A decision is good only for the epoch in which it was made; a permit carries that epoch to the write. Until it is
    known what is kept of the agent session, it counts as SECRET.
    """

    __slots__ = ("_durable", "_floors", "because", "ended", "epoch", "known", "lane", "level", "settled")

    def __init__(self) -> None:
        self.level = DataSensitivity.SECRET
        self.lane: Lane = lane_for(self.level)
        self.epoch = 0
        self.known = False
        self.ended = False
        """Whether an operator has ended the agent session."""
        self.because = UNKNOWN
        """What brought it to its level, in words."""
        self.settled = DataSensitivity.PUBLIC
        """The highest level that is known to be durable, and fenced: no runtime writes to a wider lane any more."""
        self._durable = -1
        self._floors: list[DataSensitivity] = []

    @property
    def record_epoch(self) -> int:
        """Epoch of the latest record that was taken over."""
        return self._durable

    def hold(self, level: DataSensitivity, because: str) -> None:
        """Be at least at this level, whatever is kept, until it is let go: what is on its way into the store counts
        from the moment it was learned."""
        self._floors.append(level)
        if level > self.level:
            self._become(level, because)

    def let_go(self, level: DataSensitivity) -> None:
        """What was held is kept by now."""
        self._floors.remove(level)

    def follow(self, record: SessionRecord, because: str = "") -> bool:
        """Take over what is kept. Whether anything has changed. What is older than what is known lowers nothing."""
        before = (self.known, self.epoch, self.level)
        newer = record.epoch > self._durable
        level = max(record.level, *self._floors) if self._floors else record.level
        if not self.known or level > self.level or (newer and level < self.level):
            self._become(level, record.doubt or because)
        if newer:
            self._durable = record.epoch
        if not self.known:
            self.known = True
            self.epoch += 1
        if record.ended and not self.ended:
            self.ended = True
            self.epoch += 1
        return before != (self.known, self.epoch, self.level)

    def allows(self, lane: Lane) -> bool:
        """Whether anything may be sent on this lane."""
        return not self.ended and not is_wider(lane, self.lane)

    def permit(self) -> "EpochPermit":
        return EpochPermit(self, self.epoch)

    def abandon(self) -> bool:
        """Be no agent session's any more: SECRET for good, to whoever still has it. False, and nothing has changed,
        where it holds what may not be kept anywhere else."""
        if self._floors:
            return False
        self.hold(DataSensitivity.SECRET, UNKNOWN)
        self.epoch += 1
        return True

    def _become(self, level: DataSensitivity, because: str) -> None:
        lowered = self.known and level < self.level
        self.level = level
        self.because = because
        self.settled = min(self.settled, level)
        lane = lane_for(level)
        # Lowered within its lane, it may have to be raised again by what needed no decision before.
        if lane is not self.lane or lowered:
            self.lane = lane
            self.epoch += 1


class EpochPermit(msgspec.Struct, frozen=True, gc=False):
    """Leave to write, for as long as the agent session stays as it was when this was given."""

    ratchet: Ratchet
    epoch: int

    def valid(self) -> bool:
        return self.ratchet.epoch == self.epoch


class Ratchets:
    """The ratchets of all agent sessions that this process has heard of."""

    def __init__(self) -> None:
        self._known: dict[Principal, Ratchet] = {}

    def of(self, principal: Principal) -> Ratchet:
        """The ratchet of an agent session. One that was never asked for is there from now on, and SECRET until what is
        kept of it is known."""
        ratchet = self._known.get(principal)
        if ratchet is None:
            ratchet = self._known[principal] = Ratchet()
        return ratchet

    def find(self, principal: Principal) -> Ratchet | None:
        return self._known.get(principal)

    def forget(self, principal: Principal) -> bool:
        """Have none of this agent session any more. False where it has to stay."""
        ratchet = self._known.get(principal)
        if ratchet is not None and not ratchet.abandon():
            return False
        self._known.pop(principal, None)
        return True

    def unsettle(self) -> None:
        """Count no level as fenced: the store has another database now, and each raise is written there again."""
        for ratchet in self._known.values():
            ratchet.settled = DataSensitivity.PUBLIC

    def __len__(self) -> int:
        return len(self._known)
