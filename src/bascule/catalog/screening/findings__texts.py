"""Every text of a JSON value, the names of its members too, each with its place."""

from collections.abc import Iterator
from typing import Any

from bascule.core.json_types import JsonObject, is_array, is_object

Text = tuple[str, str]
"""A place, such as `inputSchema.properties.path.description`, and the text that stands there."""

NAME_OF = "the name of "
"""What the place of a member's name begins with."""


def texts_of(value: Any, where: str = "") -> Iterator[Text]:
    """In the order in which they stand. Takes no stack however deep the value, and no copy however long."""
    within = [iter([(where, value)])]
    while within:
        found = next(within[-1], None)
        if found is None:
            within.pop()
            continue
        place, part = found
        if isinstance(part, str):
            yield place, part
        elif is_object(part):
            yield from ((NAME_OF + _below(place, name), name) for name in part)
            within.append(_members(part, place))
        elif is_array(part):
            within.append(_items(part, place))


def _members(part: JsonObject, place: str) -> Iterator[tuple[str, Any]]:
    return ((_below(place, name), each) for name, each in part.items())


def _items(part: list[Any], place: str) -> Iterator[tuple[str, Any]]:
    return ((f"{place}[{index}]", each) for index, each in enumerate(part))


def _below(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
