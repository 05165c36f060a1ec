"""Somebody who writes down what was seen in an agent session."""

from bascule.core.sensitivity import DataSensitivity


class Book:
    """Says no if it is told to."""

    def __init__(self) -> None:
        self.level = DataSensitivity.PUBLIC
        self.names: list[str] = []
        self.fails = False

    def add(self, dataset: str, sensitivity: DataSensitivity) -> None:
        if self.fails:
            raise OSError("the store is gone")
        self.names.append(dataset)
        self.level = max(self.level, sensitivity)
