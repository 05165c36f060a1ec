"""Detection and escaping of invisible, bidirectional and control characters: a model reads them, a person does not."""

import re

BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks, embeddings, overrides and isolates: they change the order in which a text is shown."""

CONTROL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""C0 and C1 without tab and line ends: terminals obey them."""

INVISIBLE = (
    # Default-ignorable: fillers, joiners, soft hyphen, variation selectors, tag characters, shorthand and music format.
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # The other format characters, annotations between the lines among them.
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    # Drawn as nothing: line and paragraph separators, an empty cell of braille, an empty note, a filler, a stand-in.
    "\u2028\u2029\u2800\ufffc\U0001d159\U00016fe4"
)
"""What takes no room, or room without ink."""

_LAST_TWO = "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))

UNDEFINED = f"\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\U000f0000-\U000ffffd\U00100000-\U0010fffd{_LAST_TWO}"
"""Private use, noncharacters and halves of pairs: nobody can say how they look."""

_PICTURES = "©®‼⁉™ℹ↔-↪⌀-⏿Ⓜ■-➿⤀-⥿⬀-⯿〰〽㊗㊙\U0001f000-\U0001faff"  # symbols that have a coloured form

HIDDEN = re.compile(f"[{BIDI}{CONTROL}{INVISIBLE}{UNDEFINED}]")
"""Any of them, also where it has its ordinary use."""

ORDINARY = re.compile(
    f"(?<=[{_PICTURES}])[\ufe0e\ufe0f]|(?<=[0-9#*])\ufe0f(?=\u20e3)|(?<=[{_PICTURES}\ufe0f])\u200d(?=[{_PICTURES}])"
)
"""Where a selector or joiner belongs: it says that a symbol is shown in colour, or makes one picture of two."""


def escaped(text: str) -> str:
    """The text with all that hides written out, as `\\u200b`, but where it belongs."""
    return HIDDEN.sub(_escape_unless_ordinary, text)


def escaped_json(text: str) -> str:
    """The same JSON, to be printed: what hides can stand only in its strings, where an escape means the same."""
    return HIDDEN.sub(lambda found: "".join(f"\\u{unit:04x}" for unit in _utf16(found[0])), text)


def _escape_unless_ordinary(found: re.Match[str]) -> str:
    if ORDINARY.match(found.string, found.start()):
        return found[0]
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _utf16(character: str) -> tuple[int, ...]:
    data = character.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2))
