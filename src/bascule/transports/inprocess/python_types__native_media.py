"""What a native tool gives back that is no text."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes that a native tool gives back: an image, a sound, or any other file."""

    data: bytes
    mime_type: str
    name: str = "result"
    """What a file is called that is neither image nor sound."""
