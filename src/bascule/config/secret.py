"""Secret text that stays out of repr, logs and pickles; only `reveal()` returns it."""

import hmac
from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn, Self, final

MASK = "[secret]"
"""What is shown in place of the text. It says nothing of the text, not even its length."""


@final
class Secret:
    """One text that stays out of repr, logs, errors, formats and pickles."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return MASK

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        # A comparison that stops at the first difference tells how much of a guess was right.
        return isinstance(other, Secret) and hmac.compare_digest(_bytes(self._text), _bytes(other._text))

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Secret cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Secret cannot be changed")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled: its text would lie open in the pickle")

    def __reduce__(self) -> NoReturn:
        self.__getstate__()


def _bytes(text: str) -> bytes:
    # The environment may hold bytes that are not UTF-8; Python carries them as lone surrogates.
    return text.encode("utf-8", "surrogatepass")


def conceal_all(values: Mapping[str, Secret | str]) -> Mapping[str, Secret]:
    """The same names with every value a `Secret`, in a mapping nobody can change."""
    return MappingProxyType({name: v if isinstance(v, Secret) else Secret(v) for name, v in values.items()})


def reveal_all(values: Mapping[str, Secret | str]) -> dict[str, str]:
    """The plain values, for the moment they are handed to a child process or put into a request."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in values.items()}
