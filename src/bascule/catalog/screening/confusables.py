"""Confusable letters (homoglyphs): folding of lookalikes to plain letters, and tools whose names imitate another
tool's."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping

from bascule.core.finding import Finding, FindingKind
from bascule.core.text.invisible_chars import HIDDEN
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus

_LOOKALIKES = {
    # Cyrillic
    **dict(zip("асеһіјӏкмнопԛрѕтԝхуԁв", "acehijlkmhonqpstwxydb", strict=True)),
    **dict(zip("АВЕЅІЈКМНОРСТХҮԜ", "abesijkmhopctxyw", strict=True)),
    # Greek
    **dict(zip("αγεικνορτυχω", "ayeikvoptuxw", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx", strict=True)),
    # Armenian and Latin
    **dict(zip("օոսհցıɡɑ", "onuhgiga", strict=True)),
}
"""Letters that most typefaces draw as a Latin one."""

_STYLED = "\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"
"""Fullwidth and mathematical letters, which are Latin ones in another dress."""

_PUNCTUATION = {"‘": "'", "’": "'", "ʼ": "'", "‐": "-", "‑": "-", "–": "-"}

_MOST_KEPT = 20_000
"""Foldings remembered. Whoever sends every character there is must not fill memory."""

DISGUISED = re.compile(f"[A-Za-z][{''.join(_LOOKALIKES)}]|[{''.join(_LOOKALIKES)}][A-Za-z]|[{_STYLED}]")
"""A lookalike among Latin letters, or a Latin letter in another dress."""

_BORROWED = re.compile(f"[{''.join(_LOOKALIKES)}]+")

_DIGITS = str.maketrans("01|", "oll")


class _Folding(dict[int, str]):
    """Character by character, so that it is linear: a whole text would be normalised by sorting its marks."""

    def __missing__(self, code: int) -> str:
        plain = _plain(chr(code))
        if len(self) < _MOST_KEPT:
            self[code] = plain
        return plain


def _plain(character: str) -> str:
    if HIDDEN.match(character):
        return ""
    parts = unicodedata.normalize("NFKD", character)
    plain = "".join(_LOOKALIKES.get(part, part) for part in parts if not unicodedata.combining(part))
    return _PUNCTUATION.get(plain, plain).lower()


_FOLDING = _Folding()


def folded(text: str) -> str:
    """In lower case, without what hides, accents and disguises. Never fails, and takes linear time."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def is_disguised(name: str) -> bool:
    """Whether a name passes for a Latin one: lookalikes among its letters, or for all of them."""
    if name.isascii():
        return False
    if DISGUISED.search(name):
        return True
    letters = "".join(filter(str.isalpha, name))
    return len(letters) > 2 and _BORROWED.fullmatch(letters) is not None


def skeleton(name: str) -> str:
    """Equal for names that look alike, ASCII ones too: `1ist` and `list`, `modem` and `modern`."""
    plain = folded(name.replace("I", "l"))
    return plain.translate(_DIGITS).replace("rn", "m").replace("vv", "w")


def lookalikes(specs: Iterable[ToolSpec]) -> dict[ToolKey, Finding]:
    """Tools whose names pass for another tool's, each with its finding. Of two names, the disguised one is found."""
    seen = [spec for spec in specs if spec.status is not ToolStatus.HIDDEN]
    found = _alike({spec.key: spec.name for spec in seen})
    # An exposed name is ASCII. What a disguise is made of shows in the server's own.
    if not all(spec.key.tool.isascii() for spec in seen):
        own = _alike({spec.key: spec.key.tool for spec in seen})
        found |= {key: finding for key, finding in own.items() if not key.tool.isascii()}
    return found


def _alike(names: Mapping[ToolKey, str]) -> dict[ToolKey, Finding]:
    groups: dict[str, list[ToolKey]] = defaultdict(list)
    for key, name in names.items():
        groups[skeleton(name)].append(key)
    return {
        key: Finding(FindingKind.LOOKALIKE, "name", f"{names[key]!a} looks like {other}")
        for shape, keys in groups.items()
        if len(keys) > 1
        for key, other in _disguised(shape, keys, names)
    }


def _disguised(shape: str, keys: list[ToolKey], names: Mapping[ToolKey, str]) -> Iterable[tuple[ToolKey, ToolKey]]:
    """Those that are not simply the shape itself, each with one of another name. Upper case is no disguise."""
    by_name = {names[key].lower(): key for key in keys}
    for key in keys:
        name = names[key].lower()
        if name != shape and len(by_name) > 1:
            yield key, next(other for known, other in by_name.items() if known != name)
