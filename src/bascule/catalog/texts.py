"""Every text of a JSON value, the names of its members too, each with its place."""

from collections.abc import Iterator
from typing import Any

from bascule.core.jsonvalue import is_array, is_object

Text = tuple[str, str]
"""A place, such as `inputSchema.properties.path.description`, and the text that stands there."""

NAME_OF = "the name of "
"""What the place of a member's name begins with."""


def texts_of(value: Any, where: str = "") -> Iterator[Text]:
    """In the order in which they stand. Takes no stack, however deep the value."""
    waiting: list[tuple[str, Any]] = [(where, value)]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, str):
            yield place, part
        elif is_object(part):
            below = [(f"{place}.{name}" if place else name, each) for name, each in part.items()]
            yield from ((NAME_OF + path, name) for (path, _), name in zip(below, part, strict=True))
            waiting += reversed(below)
        elif is_array(part):
            waiting += reversed([(f"{place}[{index}]", each) for index, each in enumerate(part)])
