"""Prompt-injection screening of a server's texts: hidden characters, disguised names, instructions to the model,
encoded data. It finds known tricks; it does not prove a text harmless."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bascule.catalog.screening.confusables import folded, is_disguised
from bascule.catalog.screening.phrases import PHRASES, blob_in, may_speak
from bascule.core.finding import Finding, FindingKind, Severity
from bascule.core.json_types import JsonObject, is_array, is_object
from bascule.core.text.invisible_chars import BIDI, CONTROL, HIDDEN, ORDINARY, escaped

Text = tuple[str, str]
"""A place, such as `inputSchema.properties.path.description`, and the text that stands there."""

NAME_OF = "the name of "
"""What the place of a member's name begins with."""


def texts_of(value: Any, where: str = "") -> Iterator[Text]:
    """Every text of a JSON value with its place, names of members included, in document order. Takes no stack however
    deep the value, and no copy however long."""
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


MAX_FINDINGS = 20
"""Findings told of one tool. Texts that hide something beyond those are counted, which is cheaper."""

MAX_READ = 100_000
"""Characters read of one text. The interpreter is held for as long as one search takes; that a text has more is a
finding of its own, so that nothing is hidden by being far down."""

_SHOWN = 8
"""Characters shown of those that hide in one text."""

_EXCERPT = 40
"""Characters before a phrase that are shown with it."""

_LONGEST = 160

_KINDS = (
    (FindingKind.BIDI, re.compile(f"[{BIDI}]")),
    (FindingKind.CONTROL, re.compile(f"[{CONTROL}]")),
    (FindingKind.INVISIBLE, re.compile(f"(?![{BIDI}{CONTROL}]){HIDDEN.pattern}")),
)

_encode = msgspec.json.Encoder().encode

_NAMES = re.compile(r"(?:^|\.)(?:name|title)$")

_ICON = re.compile(r"(?:^|\.)icons\[\d+\]\.src$")
"""Pictures may be given as data. Nobody reads them as text."""


def screened_definition(definition: JsonObject) -> tuple[Finding, ...]:
    """What is found in any text of a tool's definition, known field or not."""
    encoded = _encode(definition)
    if len(encoded) > MAX_READ:
        return screened(texts_of(definition))
    whole = encoded.decode()
    # Nearly every definition is plain ASCII without a suspicious word, and need not be taken apart.
    if _is_plain(encoded) and not may_speak(whole.lower()) and blob_in(whole) is None:
        return ()
    return screened(texts_of(definition))


def screened(texts: Iterable[Text]) -> tuple[Finding, ...]:
    """What is found in texts, each given with its place. The first findings are told, then how many more there are."""
    told: list[Finding] = []
    more = 0
    for where, text in texts:
        if len(told) < MAX_FINDINGS:
            told += _found(where, text)
        else:
            more += HIDDEN.search(text, 0, MAX_READ) is not None
    if more:
        told.append(Finding(FindingKind.MORE, "other places", f"{more:,} more texts hide something"))
    return tuple(told)


def refusal_of(findings: tuple[Finding, ...]) -> str:
    """Why something is kept from agents, and what an operator can do."""
    first, *others = findings
    more = f" (and {len(others)} more)" if others else ""
    return f"its texts were refused, {first}{more}; `catalog: {{screen: flag}}` would accept them"


_ESCAPES = (b"\\u00", b"\\b", b"\\f", b"\x7f")
"""How control characters are encoded: as escapes, but for the last of ASCII."""


def _is_plain(encoded: bytes) -> bool:
    return encoded.isascii() and not any(escape in encoded for escape in _ESCAPES)


def _found(where: str, text: str) -> Iterator[Finding]:
    if len(text) > MAX_READ and not _ICON.search(where):
        evidence = f"{len(text):,} characters, of which the first {MAX_READ:,} were read"
        yield Finding(FindingKind.BLOB, _place(where), evidence, Severity.CAUTION)
    yield from _found_in(where, text[:MAX_READ])


def _found_in(where: str, text: str) -> Iterator[Finding]:
    if not text.isascii() or not text.isprintable():
        yield from _hidden(where, text)
        if (where.startswith(NAME_OF) or _NAMES.search(where)) and is_disguised(text):
            yield _disguised(where, text)
    plain = folded(text)
    for phrase in PHRASES:
        match = phrase.find(plain) if phrase.may_be_in(plain) else None
        if match is not None:
            yield Finding(FindingKind.INSTRUCTION, _place(where), f"{phrase.says}: {_excerpt(match)}")
    blob = None if _ICON.search(where) else blob_in(text)
    if blob is not None:
        evidence = f"a long stretch of encoded data: {_excerpt(blob)}"
        yield Finding(FindingKind.BLOB, _place(where), evidence, Severity.CAUTION)


def _hidden(where: str, text: str) -> Iterator[Finding]:
    rest = ORDINARY.sub("", text)
    if not HIDDEN.search(rest):
        return
    for kind, pattern in _KINDS:
        matches = pattern.findall(rest)
        if matches:
            shown = " ".join(f"U+{ord(character):04X}" for character in dict.fromkeys(matches[:_SHOWN]))
            times = f"{len(matches):,} characters, such as {shown}" if len(matches) > 1 else shown
            yield Finding(kind, _place(where), f"{times}, in {_around(pattern, text)}")


def _around(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    start = max(match.start() - _EXCERPT // 2, 0) if match else 0
    return f"'{_cut(escaped(text[start : start + _EXCERPT]))}'"


def _disguised(where: str, name: str) -> Finding:
    evidence = f"{_cut(ascii(name[:_EXCERPT]))} reads as '{_cut(escaped(folded(name[:_EXCERPT])))}'"
    return Finding(FindingKind.LOOKALIKE, _place(where), evidence)


def _excerpt(match: re.Match[str]) -> str:
    start = max(match.start() - _EXCERPT, 0)
    return f"“{_cut(escaped(' '.join(match.string[start : match.end() + 10].split())))}”"


def _place(where: str) -> str:
    return _cut(escaped(where)) or "the text"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
