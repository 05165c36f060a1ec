"""How long each step of a request took."""

from collections.abc import ItemsView, Iterator, Mapping
from time import perf_counter


class Steps(Mapping[str, float]):
    """Seconds per step. Every call takes the times, few are asked for them: `marks` gets an instant at the end of each
    step, and the sums are made when they are read."""

    __slots__ = ("marks", "started")

    def __init__(self) -> None:
        self.started = perf_counter()
        self.marks: list[tuple[str, float]] = []

    def __getitem__(self, step: str) -> float:
        return self._sums()[step]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sums())

    def items(self) -> ItemsView[str, float]:
        return self._sums().items()

    def __len__(self) -> int:
        return len(self._sums())

    def __repr__(self) -> str:
        return repr(self._sums())

    def _sums(self) -> dict[str, float]:
        sums: dict[str, float] = {}
        last = self.started
        for step, instant in self.marks:
            # A step can come round again: a call is decided anew when its agent session changed under it.
            sums[step] = sums.get(step, 0.0) + instant - last
            last = instant
        return sums
