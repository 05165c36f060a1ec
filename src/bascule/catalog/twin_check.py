"""Comparison of an isolated twin with its server: same tools, same schemas, same effects. Pure."""

from collections.abc import Iterator

from bascule.catalog.digest import canonical_json
from bascule.catalog.entry import Entry
from bascule.catalog.server_listing import ServerListing

MOST_TOLD = 20
"""Differences that are told. Who has read so many needs no more."""


def differences(original: ServerListing, twin: ServerListing) -> tuple[str, ...]:
    """In what a twin is another server than the original. Descriptions may differ."""
    found = list(_differences(original, twin))
    more = (f"and {len(found) - MOST_TOLD} more",) if len(found) > MOST_TOLD else ()
    return (*found[:MOST_TOLD], *more)


def _differences(original: ServerListing, twin: ServerListing) -> Iterator[str]:
    for tool in sorted(original.entries.keys() - twin.entries.keys()):
        yield f"{tool}: the twin does not have it"
    for tool in sorted(twin.entries.keys() - original.entries.keys()):
        yield f"{tool}: only the twin has it"
    for tool in sorted(original.entries.keys() & twin.entries.keys()):
        yield from _tool_differences(tool, original.entries[tool], twin.entries[tool])


def _tool_differences(tool: str, original: Entry, twin: Entry) -> Iterator[str]:
    there, here = original.spec, twin.spec
    for what, before, now in (
        ("input schema", there.input_schema, here.input_schema),
        ("output schema", there.output_schema, here.output_schema),
    ):
        if canonical_json(before) != canonical_json(now):
            yield f"{tool}: another {what}: {_shown(before)} there, {_shown(now)} at the twin"
    if there.permissions != here.permissions:
        yield f"{tool}: may {_joined(there.permissions)} there, and {_joined(here.permissions)} at the twin"


def other_words(original: ServerListing, twin: ServerListing) -> tuple[str, ...]:
    """The tools that a twin describes in other words."""
    both = original.entries.keys() & twin.entries.keys()
    return tuple(
        sorted(tool for tool in both if original.entries[tool].spec.description != twin.entries[tool].spec.description)
    )


def _shown(schema: object) -> str:
    text = canonical_json(schema).decode()
    return text if len(text) <= 200 else f"{text[:200]}…"


def _joined(permissions: frozenset[str]) -> str:
    return " and ".join(sorted(permissions))
