"""Words that must not get out, each put in a place of its own, and where they were found all the same."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any


class Canaries:
    """Made one after the other, each by the name of its place."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self._numbers = count(1)

    def __call__(self, place: str) -> str:
        """The word for a place. It looks like a key: letters and digits, and longer than a word."""
        if place not in self.words:
            self.words[place] = f"CnRy{next(self._numbers):02d}{place.title().replace(' ', '')}9f3e71a4c2d85b"
        return self.words[place]

    def learn(self, place: str, word: str) -> None:
        """One that was made while a program ran."""
        self.words[place] = word

    def found(self, shown: Mapping[str, str | bytes], places: Iterable[str]) -> list[str]:
        """Where each of these was seen: what is shown, and the place that its word was put in. Words are looked for also as
        they would stand in base64, in a URL, in JSON, and cut in two."""
        wanted = {place: self.words[place] for place in places}
        return [
            f"{where} shows the word of {place!r}"
            for where, text in shown.items()
            for place, word in wanted.items()
            if _is_in(word, text if isinstance(text, str) else text.decode("latin-1"))
        ]


def _is_in(word: str, text: str) -> bool:
    forms = {word, word[:24], word[-24:]}
    return any(form in text for form in forms) or re.search(re.escape(word), text, re.IGNORECASE) is not None


def told(value: Any) -> str:
    """Whatever it is, with all that it holds."""
    return json.dumps(value, default=repr, ensure_ascii=False)
