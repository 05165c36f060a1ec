"""Generated Python stub module: a function for each tool, and the dataclasses that it needs.

Texts of servers enter it as data alone: names are made of letters, digits and underscores, everything else is escaped
inside literals and docstrings."""

import re
from collections.abc import Iterable, Iterator
from textwrap import indent
from typing import NamedTuple

from bascule.catalog.typed.classes import KEY, REST
from bascule.catalog.typed.from_schema import Read
from bascule.catalog.typed.names import RESERVED, Names, class_name, field_names
from bascule.catalog.typed.shape import (
    Again,
    Anything,
    Either,
    ListOf,
    MapOf,
    Member,
    Nothing,
    Options,
    Plain,
    Shape,
    Struct,
)
from bascule.catalog.typed.tool import read_params, read_result, usable
from bascule.core.text.invisible_chars import escaped
from bascule.core.tool import ToolSpec

TITLE = '"""Tools as typed functions, written by `bascule stubs`.'
"""How such a module begins, by which it is known again."""

_TYPES = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}

_FROM_TYPING = ("Any", "Literal", "Never")
_FROM_BASCULE = ("UNSET", "AgentSession", "Outcome", "ToolFailure", "Unset", "typed_call")

_ENDING = re.compile(r'"(?="|\Z)')
"""A quote that could be one of the three at the end of a docstring."""

_MAX_TOLD = 5
"""Reasons in a docstring."""


class Written(NamedTuple):
    """One tool in the module."""

    spec: ToolSpec
    function: str
    inexact: tuple[str, ...]
    """What the types do not say of its arguments."""


class Module(NamedTuple):
    """A module, and what is in it."""

    text: str
    tools: tuple[Written, ...]


def module_of(specs: Iterable[ToolSpec]) -> Module:
    """The module of some tools, the same for the same tools. Raises `ProtocolViolation` for one that cannot be used."""
    ordered = sorted(specs, key=lambda spec: spec.name)
    functions = field_names((spec.name for spec in ordered), otherwise="tool")
    classes = Names((*RESERVED, *functions.values()), between="")
    used: set[str] = set()
    parts: list[str] = []
    tools: list[Written] = []
    for spec in ordered:
        tool = _Tool(spec, functions[spec.name], classes, used)
        parts += tool.parts()
        tools.append(Written(spec, tool.function, tool.params.reasons))
    head = [_header(tools), _imports(used)]
    return Module("\n\n\n".join(["\n\n".join(head).rstrip(), *parts]) + "\n", tuple(tools))


class _Tool:
    """One tool while it is written."""

    def __init__(self, spec: ToolSpec, function: str, classes: Names, used: set[str]) -> None:
        entry, base = usable(spec), class_name(spec.name)
        self.spec, self.function, self.used = spec, function, used
        self.params: Read = read_params(entry, base)
        self.result: Read | None = read_result(entry, base)
        assert isinstance(self.params.shape, Struct)
        self.root: Struct = self.params.shape
        self.structs = [struct for struct in self.params.structs if struct is not self.root or self._is_met()]
        self.structs += self.result.structs if self.result is not None else ()
        self.names: dict[Struct, str] = {struct: classes.take(struct.name) for struct in self.structs}

    def parts(self) -> Iterator[str]:
        yield from map(self._class, self.structs)
        yield self._function()

    def _is_met(self) -> bool:
        """Whether arguments lead back to where they begin, so that this needs a class too."""
        inner = (shape for struct in self.params.structs for shape in _shapes(struct))
        return any(self.root in structs_in(shape) for shape in inner)

    def _class(self, struct: Struct) -> str:
        self.used.add("dataclasses")
        lines = [self._field(member) for member in struct.members]
        if struct.rest is not None:
            kind = self._type(MapOf(struct.rest))
            lines.append(f"{struct.rest_name}: {kind} | Unset = {self._default(f'{literal(REST)}: True')}")
        if struct.description or not lines:
            lines.insert(0, docstring(struct.description or struct.name) + ("\n" if lines else ""))
        body = indent("\n".join(lines), "    ")
        return f"@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)\nclass {self.names[struct]}:\n{body}"

    def _field(self, member: Member) -> str:
        told = f"{literal(KEY)}: {literal(member.key)}" if member.key != member.name else ""
        kind = self._type(member.shape)
        if not member.required:
            return f"{member.name}: {kind} | Unset = {self._default(told)}"
        return f"{member.name}: {kind}" + (f" = dataclasses.field(metadata={{{told}}})" if told else "")

    def _default(self, told: str = "") -> str:
        self.used.update({"UNSET", "Unset"})
        return f"dataclasses.field(default=UNSET, metadata={{{told}}})" if told else "UNSET"

    def _function(self) -> str:
        self.used.update({"AgentSession", "typed_call"})
        members, struct = self.root.members, self.root
        session = "session" if all(member.name != "session" for member in members) else "_session"
        parameters = [f"{session}: AgentSession", "/", *(["*"] if members or self._more() else [])]
        parameters += [self._parameter(member) for member in members]
        given = indent("".join(f"{literal(member.key)}: {member.name},\n" for member in members), "    ")
        calls = [session, literal(self.spec.name), f"{{\n{given}}}" if given else "{}"]
        returned = self._returned(calls)
        if self._more() and struct.rest is not None:
            parameters.append(f"{struct.rest_name}: {self._type(MapOf(struct.rest))} | Unset = {self._default()}")
            calls.append(f"additional={struct.rest_name}")
        lines = [
            f"async def {self.function}(",
            *(f"    {parameter}," for parameter in parameters),
            f") -> {returned}:",
            indent(docstring(self._told()), "    "),
            "    return await typed_call(",
            *(indent(f"{argument},", "        ") for argument in calls),
            "    )",
        ]
        return "\n".join(lines)

    def _parameter(self, member: Member) -> str:
        kind = self._type(member.shape)
        return f"{member.name}: {kind}" if member.required else f"{member.name}: {kind} | Unset = {self._default()}"

    def _more(self) -> bool:
        """Whether the function takes arguments without a name. Most tools allow them, and only by saying nothing."""
        return self.root.rest is not None and self.root.rest_said

    def _returned(self, calls: list[str]) -> str:
        """What the function gives back. Where a type says nothing, the outcome says more."""
        if self.result is None or isinstance(self.result.shape, Anything):
            self.used.add("Outcome")
            return "Outcome"
        self.used.add("ToolFailure")
        kind = self._type(self.result.shape)
        calls.append(kind)
        return f"{kind} | ToolFailure"

    def _told(self) -> str:
        """The docstring: what the server says, and what the types do not."""
        parts = [self.spec.description.strip() or f"Calls the tool {self.spec.name}."]
        described = [member for member in self.root.members if member.description.strip()]
        if described:
            told = (f"{member.name}: {' '.join(member.description.split())}" for member in described)
            parts.append("Args:\n" + indent("\n".join(told), "    "))
        if self.params.reasons:
            shown = [*self.params.reasons[:_MAX_TOLD], *(["…"] if len(self.params.reasons) > _MAX_TOLD else [])]
            parts.append(f"Only the schema says: {'; '.join(shown)}.")
        return "\n\n".join(parts)

    def _type(self, shape: Shape) -> str:
        match shape:
            case Anything() | Nothing():
                name = "Any" if isinstance(shape, Anything) else "Never"
                self.used.add(name)
                return name
            case Plain(kind=kind):
                return _TYPES[kind]
            case Struct():
                return self.names[shape]
            case _:
                return self._compound(shape)

    def _compound(self, shape: Options | ListOf | MapOf | Either | Again) -> str:
        match shape:
            case Options(values=values):
                self.used.add("Literal")
                return f"Literal[{', '.join(literal(value) for _, value in values)}]"
            case ListOf(inner=inner):
                return f"list[{self._type(inner)}]"
            case MapOf(inner=inner):
                return f"dict[str, {self._type(inner)}]"
            case Either(options=options):
                return " | ".join(map(self._type, options))
            case Again(shape=found):
                assert found is not None
                return self._type(found)


def literal(value: str | int | None) -> str:
    """A value as Python writes it, in ASCII."""
    if not isinstance(value, str):
        return repr(value)
    inner = value.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def docstring(text: str) -> str:
    """A text as a docstring, out of which nothing in it leads."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    safe = _ENDING.sub(r"\"", escaped("\n".join(lines).strip()).replace("\\", "\\\\"))
    return f'"""{safe}\n"""' if "\n" in safe else f'"""{safe}"""'


def structs_in(shape: Shape) -> Iterator[Struct]:
    """The structs that a shape, written out, names."""
    match shape:
        case Struct():
            yield shape
        case ListOf(inner=inner) | MapOf(inner=inner):
            yield from structs_in(inner)
        case Either(options=options):
            for option in options:
                yield from structs_in(option)
        case Again(shape=found) if found is not None:
            yield from structs_in(found)
        case _:
            return


def _shapes(struct: Struct) -> Iterator[Shape]:
    yield from (member.shape for member in struct.members)
    if struct.rest is not None:
        yield struct.rest


def _header(tools: Iterable[Written]) -> str:
    told = "\n".join(f"    {tool.spec.name} {tool.spec.digest}" for tool in tools)
    return "\n".join(
        [
            TITLE,
            "",
            "Do not edit it: write it anew when tools have changed. `bascule stubs --check` tells whether they have.",
            "It was made of these tools, each with its digest:",
            "",
            escaped(told).replace("\\", "\\\\").replace('"', '\\"'),
            '"""',
        ]
    )


def _imports(used: set[str]) -> str:
    lines = {
        home: ", ".join(name for name in names if name in used)
        for home, names in (("typing", _FROM_TYPING), ("bascule", _FROM_BASCULE))
    }
    standard = ["import dataclasses"] if "dataclasses" in used else []
    standard += [f"from typing import {lines['typing']}"] if lines["typing"] else []
    ours = f"from bascule import {lines['bascule']}" if lines["bascule"] else ""
    return "\n\n".join(block for block in ("from __future__ import annotations", "\n".join(standard), ours) if block)
