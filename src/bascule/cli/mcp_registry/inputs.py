"""Inputs that a `server.json` of the MCP registry declares, and their form in a config."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bascule.core.json_types import JsonObject, as_object, as_text

_BLANK = re.compile(r"\{([A-Za-z_][\w.-]*)\}")


class Unmet(Exception):
    """A way to use a server that cannot be written down here. The text says why."""


@dataclass(frozen=True, slots=True)
class Need:
    """A variable that the operator sets, or may set."""

    name: str
    description: str = ""
    needed: bool = True
    secret: bool = False
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """One thing to be told."""

    name: str | None = None
    value: str | None = None
    """Fixed, but for the blanks in braces."""
    default: str | None = None
    required: bool = False
    secret: bool = False
    flag: bool = False
    """Whether it is given or not, and has no value."""
    description: str = ""
    variables: Mapping[str, "Input"] = field(default_factory=dict[str, "Input"])


def read_input(raw: JsonObject) -> Input:
    inner = as_object(raw.get("variables"))
    return Input(
        name=as_text(raw.get("name")),
        value=_text(raw.get("value")),
        default=_text(raw.get("default")),
        required=raw.get("isRequired") is True,
        secret=raw.get("isSecret") is True,
        flag=raw.get("format") == "boolean",
        description=(as_text(raw.get("description")) or "").strip(),
        variables={name: read_input(as_object(each)) for name, each in inner.items()},
    )


def told(given: Input, variable: str, needs: list[Need]) -> str | None:
    """The text that stands in the config for it. None, if it need not be told and nobody knows what. A variable that it
    refers to is added to `needs`."""
    if given.value is not None:
        return _filled(given, variable, needs)
    if given.default is None and not given.required:
        return None
    return _reference(given, variable, needs)


def _filled(given: Input, variable: str, needs: list[Need]) -> str:
    """A fixed text, with a reference in each blank that has a name for it."""
    parts: list[str] = []
    last = 0
    value = given.value or ""
    for blank in _BLANK.finditer(value):
        inner = given.variables.get(blank[1])
        if inner is None:
            continue
        parts += [_literal(value[last : blank.start()]), _blank(inner, f"{variable}_{blank[1]}", given, needs)]
        last = blank.end()
    return "".join([*parts, _literal(value[last:])])


def _blank(inner: Input, variable: str, given: Input, needs: list[Need]) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", variable.upper())
    text = told(inner, name, needs)
    if text is not None:
        return text
    # Whoever has a blank has to fill it, whatever else is said of it.
    needs.append(Need(name, inner.description or given.description, secret=inner.secret or given.secret))
    return f"${{{name}}}"


def _reference(given: Input, variable: str, needs: list[Need]) -> str:
    default = given.default
    if default is not None and ("}" in default or "${" in default):
        # It would end the reference, or begin another.
        return _literal(default)
    needs.append(Need(variable, given.description, default is None, given.secret, default))
    return f"${{{variable}}}" if default is None else f"${{{variable}:-{default}}}"


def _literal(text: str) -> str:
    """Somebody else's text: a dollar sign in it refers to nothing of ours."""
    return text.replace("$", "$$")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else as_text(value)
