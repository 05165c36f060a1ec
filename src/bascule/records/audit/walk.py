"""Walk along one audit chain, record by record, for verification: finds every altered place and names the
alteration."""

from collections import deque
from typing import Literal

from bascule.records.audit.damage import Damage, What
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.chain import Macs, head_of, split

MOST_TOLD = 20
"""Damages of one chain that are told one by one."""

MOST_STRAYS = 64
"""Records out of place that are remembered, to find where they belong."""

Origin = Literal["here", "line", "mac", "moved", "stray"]
"""Why the next record may go on from somewhere: the last one was in order; its words were altered; its MAC was; it is
in its place and others are missing; or it belongs elsewhere."""

State = tuple[bytes, int, Origin]
"""A MAC that the next record may go on from, the number that it has then, and what that would mean."""

Place = tuple[str, int]
"""A file, and a line in it."""

ANY = 0
"""Behind what cannot be read, a record may have any number."""


class Walk:
    """Where one chain has come to. `anchors` are looked for on the way, by the numbers of their records."""

    def __init__(self, macs: Macs, writer: str, anchors: dict[int, list[Anchor]]) -> None:
        self._macs = macs
        self._writer = writer
        self._anchors = anchors
        self._states: list[State] = [(macs.first, 1, "here")]
        self._strays: deque[State] = deque(maxlen=MOST_STRAYS)
        self._odd: tuple[Place, int, int] | None = None
        """Where the last record did not fit, the number it should have had, and the one it has."""
        self._missed: set[int] = set()
        """Numbers that were passed over. Their records may turn up later."""
        self._blind = False
        """Whether nothing is known that the next record could go on from."""
        self.expected = 1
        self.records = 0
        self.head: Anchor | None = None
        self.damage: list[Damage] = []
        self.damages = 0
        self.first_bad: int | None = None
        """The first number of which it is not proven that its record is what was written."""
        self.proven: Anchor | None = None
        """The last anchor that the log tells of before anything was wrong."""
        self.held = [anchor for anchor in anchors.get(0, ()) if anchor.mac == macs.first.hex()]
        """Anchors whose record was found, and is the one they name."""
        self._place: Place = ("", 0)

    def step(self, file: str, line: int, data: bytes) -> None:
        """Take the next line, without its end."""
        self._place = (file, line)
        parts = split(data)
        head = head_of(parts[0]) if parts is not None else None
        if parts is None or head is None:
            self._unreadable(parts[1] if parts is not None else None)
            return
        body, mac = parts
        here = Anchor(self._writer, head.seq, mac.hex(), head.at)
        state = self._fitting(body, mac, head.seq)
        self.records += 1
        if state is None:
            self._misfit(body, mac, head.seq)
        else:
            self._fit(state, here, head.kind)
        # Records of elsewhere may hang together too. How far the chain came they do not tell.
        if self.head is None or head.seq > self.head.sequence:
            self.head = here

    def end(self) -> None:
        """There are no more lines."""
        self._settle_odd(None)

    def add(self, what: What, told: str, sequence: int, place: Place = ("", 0)) -> None:
        self.damages += 1
        if self.first_bad is None or sequence < self.first_bad:
            self.first_bad = sequence
        if len(self.damage) < MOST_TOLD:
            self.damage.append(Damage(what, told, *place, sequence))

    def _fitting(self, body: bytes, mac: bytes, number: int) -> State | None:
        for state in self._states:
            if state[1] in {number, ANY} and self._macs.over(state[0], body) == mac:
                return state
        if self._blind and number >= self.expected:
            return mac, number, "here"
        return next((s for s in self._strays if s[1] == number and self._macs.over(s[0], body) == mac), None)

    def _fit(self, state: State, here: Anchor, kind: str) -> None:
        self._settle_odd(state[2])
        number = here.sequence
        self._states = self._after(state, here)
        self._blind = False
        self.expected = max(self.expected, number + 1)
        for anchor in self._anchors.get(number, ()):
            if anchor.mac == here.mac:
                self.held.append(anchor)
            else:
                told = f"record {number} is another one than was anchored: the log was written anew by who has the key"
                self.add("replaced", told, number, self._place)
        if kind == "anchored" and self.first_bad is None:
            self.proven = here

    def _after(self, state: State, here: Anchor) -> list[State]:
        """What the next record may go on from."""
        following: State = (bytes.fromhex(here.mac), here.sequence + 1, "here")
        if state not in self._strays:
            return [following]
        self._strays.remove(state)
        if here.sequence >= self.expected:
            return [following]
        # It was missed before. The chain itself may go on from where it was.
        self.add("reordered", f"record {here.sequence} stands out of its order", self.expected, self._place)
        return [*self._states[:1], following]

    def _misfit(self, body: bytes, mac: bytes, number: int) -> None:
        """It goes on from nothing that is known. What was done shows when the next one is looked at."""
        self._settle_odd(None)
        self._odd = (self._place, self.expected, number)
        if self.first_bad is None:
            self.first_bad = self.expected
        before = self._states or [(b"", ANY, "here")]
        self._states = [
            (mac, self.expected + 1, "line"),
            (self._macs.over(before[0][0], body), self.expected + 1, "mac"),
            (mac, number + 1, "moved"),
            *((known, wanted, "stray") for known, wanted, _ in before[:2]),
        ]
        # What comes in between may be several, and hang together. Then the chain goes on from where it was.
        self._strays.extend(((before[0][0], before[0][1], "stray"), (mac, number + 1, "stray")))

    def _unreadable(self, mac: bytes | None) -> None:
        self._settle_odd(None)
        told = "what stands here is no record of ours"
        self.add("altered", told, self.expected, self._place)
        # Or it was put in between, and the next one goes on from what was before.
        before: list[State] = [(known, number, "here") for known, number, _ in self._states[:2]]
        self._states = [(mac, ANY, "here"), *before] if mac is not None else before
        self._blind = mac is None
        self.expected += 1

    def _settle_odd(self, origin: Origin | None) -> None:
        """Say what was done to the last record that did not fit, now that it is known what the next one goes on from.
        Nothing is, if that does not fit either."""
        if self._odd is None:
            return
        place, expected, number = self._odd
        self._odd = None
        if origin in {"line", "mac"} or number == expected:
            if origin == "stray":
                self.add("inserted", f"what stands here was never written by us, as number {number}", expected, place)
                return
            part = "the MAC of record" if origin == "mac" else "record"
            self.add("altered", f"{part} {expected} is not as it was written", expected, place)
            self.expected = max(self.expected, expected + 1)
        elif number > expected:
            self._ahead(expected, number, origin, place)
        else:
            known = number in self._missed
            what: What = "reordered" if known else "duplicated"
            told = "stands out of its order" if known else "stands here once more"
            self.add(what, f"record {number} {told}", expected, place)

    def _ahead(self, expected: int, number: int, origin: Origin | None, place: Place) -> None:
        if origin == "stray":
            self.add("reordered", f"record {number} stands before record {expected}", expected, place)
            return
        self._missed.update(range(expected, min(number, expected + MOST_STRAYS)))
        last = f" to {number - 1}" if number > expected + 1 else ""
        self.add("removed", f"record {expected}{last} is not there", expected, place)
        self.expected = max(self.expected, number + 1)
