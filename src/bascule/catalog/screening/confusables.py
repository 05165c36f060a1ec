"""A text as it is read, whatever characters it is made of: lookalikes become the plain letters they pass for."""

import re
import unicodedata

from bascule.core.text.invisible_chars import HIDDEN

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


_DIGITS = str.maketrans("01|", "oll")
