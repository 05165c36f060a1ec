"""Search tokenizer: splits texts into terms, folded to a common stem, with synonyms."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

REMEMBERED = 20_000
"""Words whose terms are remembered: servers use the same few thousand again and again."""

_CHUNK = re.compile(r"[^\W_]{1,64}")
"""A word, up to what separates it from the next. What is longer is no word of anybody's, and counts as several."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
"""Scripts that put no spaces between words: any two neighbours may be one."""

_NO_VOWEL = re.compile(r"[^aeiouy]+")

_TELLING_NOTHING = (
    "a about all am an and any are as at be between by can do does for from has have how i if in into is it its me my",
    "of on or our please so some that the their them then there these this those to two tool tools use used using want",
    "was when where which will with you your",
)

_SAME = (
    "repo repository",
    "dir directory folder",
    "doc document documentation",
    "msg message",
    "img image picture photo",
    "db database",
    "mail email",
    "config configuration setting",
    "info information",
    "auth authentication",
    "k8s kubernetes",
    "pr pullrequest mergerequest",
)
"""Words that are the same, shorter or longer. Each group is one meaning."""

_KIN = (
    "delete remove erase destroy drop unlink",
    "create add new make insert open",
    "get read fetch retrieve show view load",
    "list enumerate browse",
    "update edit modify change patch",
    "search find query lookup",
    "send post publish",
    "run execute exec invoke",
    "write save store",
    "move rename",
    "calendar schedule",
    "web internet url",
    "detail info",
    "user member person people",
    "ticket issue",
)
"""Words that one person says where another says the other, though they may mean more than that."""


def terms_of(text: str) -> list[str]:
    """Every term of a text, in order: of `createIssue` also `createissue`, as somebody may write it."""
    return [*chain.from_iterable(map(_chunk_terms, _chunks(text)))]


def asked_terms(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The same for what is asked: of each word the term that it is as a whole, and those it is made of."""
    for chunk in _chunks(text):
        whole, *parts = _chunk_terms(chunk)
        yield whole, tuple(parts)


def joined(text: str) -> str:
    """A text without what separates its words: `Create Issue`, `create_issue` and `createIssue` are one."""
    return "".join(chunk.lower() for chunk in _chunks(text))


@lru_cache(maxsize=REMEMBERED)
def _chunk_terms(chunk: str) -> tuple[str, ...]:
    """The terms of one word: itself, then its parts if it has several."""
    whole = stem(chunk.lower())
    parts = _PART.findall(chunk)
    if len(parts) > 1:
        return (whole, *dict.fromkeys(stem(part.lower()) for part in parts))
    if _UNSPACED.fullmatch(chunk):
        return (whole, *dict.fromkeys(chunk[at : at + 2] for at in range(len(chunk) - 1)))
    return (whole,)


def stem(word: str) -> str:
    """The word without its ending, lightly: what is asked and what is written need only come to the same."""
    if not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending, least in (("ing", 6), ("ed", 5), ("ion", 7)):
        cut = word.removesuffix(ending)
        if cut != word and len(word) >= least and not _NO_VOWEL.fullmatch(cut):
            if ending == "ion" and cut[-1] not in "ts":
                continue
            word = cut[:-1] if ending != "ion" and cut[-1] == cut[-2] and cut[-1] not in "lsz" else cut
            break
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


def kin_of(term: str) -> Mapping[str, bool]:
    """Other terms for it, and whether each is quite the same."""
    return _KINDRED.get(term, _NOBODY)


def _chunks(text: str) -> Iterable[str]:
    if not text.isascii():
        # An accent makes no other word.
        spread = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize("NFC", "".join(each for each in spread if not unicodedata.combining(each)))
    return _CHUNK.findall(text)


def _singular(word: str) -> str:
    if len(word) < 4 or word[-1] != "s" or word[-2] in "siu":
        return word
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


def _kindred() -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = {}
    for groups, same in ((_KIN, False), (_SAME, True)):
        for group in groups:
            terms = sorted(map(stem, group.split()))
            for term in terms:
                found.setdefault(term, {}).update(dict.fromkeys((kin for kin in terms if kin != term), same))
    return found


_NOBODY: Mapping[str, bool] = {}
_KINDRED = _kindred()

STOP = frozenset(stem(word) for line in _TELLING_NOTHING for word in line.split())
"""Terms that stand in every description, and in what people ask, and tell no tool from another."""
