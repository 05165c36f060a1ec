"""Data source with a name and a sensitivity level, set by the author of the server and never by a model."""

from dataclasses import dataclass
from typing import Protocol

from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.private_data import PrivateData, check_dataset


class Source(Protocol):
    """Anything with a name that its owner would know it by, and a level."""

    @property
    def name(self) -> str: ...
    @property
    def sensitivity(self) -> DataSensitivity: ...


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file of the workspace whose content is known to be private. Wherever a path will do, this will too."""

    name: str
    path: str
    sensitivity: DataSensitivity

    def __post_init__(self) -> None:
        check_source(self)


def check_source(source: Source) -> None:
    """When a source is made, and not when it is first read: its author is there then."""
    check_dataset(source.name)
    if not isinstance(source.sensitivity, DataSensitivity):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers without a type checker
        raise TypeError(f"the sensitivity of {source.name} must be a DataSensitivity, not {source.sensitivity!r}")


def tell(source: Source) -> None:
    """Says that data of this source is about to be read. Kept for good when this returns; what it raises must reach
    the caller, and nothing be read then."""
    if source.sensitivity > DataSensitivity.PUBLIC:
        PrivateData().add_private_dataset(source.name, source.sensitivity)


def path_of(file: str | FileSource) -> str:
    """The path to read, when it has been told whose data lies there."""
    if isinstance(file, FileSource):
        tell(file)
        return file.path
    return file
