"""One place of a schema while it is put right, and what is told of it."""


class Unmendable(Exception):
    """Why nobody can tell what a schema means. Never leaves the catalog."""


class Place:
    """One place of a schema while it is put right: where it is, and what there is to tell of it."""

    __slots__ = ("_notes", "above", "step")

    def __init__(self, notes: list[str], above: "Place | None" = None, step: str = "") -> None:
        self._notes = notes
        self.above = above
        self.step = step

    def below(self, step: str) -> "Place":
        return Place(self._notes, self, step)

    def note(self, text: str) -> None:
        self._notes.append(self._told(text))

    def unmendable(self, text: str) -> Unmendable:
        return Unmendable(self._told(text))

    def _told(self, text: str) -> str:
        steps: list[str] = []
        place: Place | None = self
        while place is not None and place.step:
            steps.append(place.step)
            place = place.above
        return f"{'.'.join(reversed(steps))}: {text}" if steps else text
