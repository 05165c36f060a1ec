"""How long each step of a request took."""

from time import perf_counter


class Stopwatch:
    """Counts the time since the last mark towards the step that is named now."""

    __slots__ = ("_last", "steps")

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._last = perf_counter()

    def mark(self, step: str) -> None:
        now = perf_counter()
        steps = self.steps
        # A step can come round again: a call is decided anew when its agent session changed under it.
        steps[step] = steps.get(step, 0.0) + now - self._last
        self._last = now
