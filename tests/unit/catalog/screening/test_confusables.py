"""Texts as they are read."""

import unicodedata

import pytest

from bascule.catalog.screening.confusables import folded, is_disguised, skeleton


@pytest.mark.parametrize(
    "text", ["IGNORE", "іgnоrе", "ｉｇｎｏｒｅ", "𝐢𝐠𝐧𝐨𝐫𝐞", "íg̃ñõrë", "ig\u200bno\u00adre", "ΙGΝΟRΕ", "ⓘⓖⓝⓞⓡⓔ"]
)
def test_disguises_fall_away(text: str):
    assert folded(text) == "ignore"


def test_other_scripts_stay_themselves():
    assert folded("日本語") == "日本語"


def test_curly_apostrophes_and_dashes_are_plain_ones():
    assert folded("Don’t re‑do") == "don't re-do"


def test_every_character_of_the_first_planes_can_be_folded():
    everything = "".join(map(chr, range(0x30000)))

    assert "a" in folded(everything)


def test_a_run_of_marks_is_folded_without_sorting_it():
    """Normalising it whole would compare every mark with every other."""
    marks = "".join(c for c in map(chr, range(0x300, 0x370)) if unicodedata.combining(c)) * 2000

    assert folded(f"a{marks}") == "a"


@pytest.mark.parametrize("name", ["rеad_file", "ＲＥＡＤ", "𝐫ead", "сору", "αpi", "read_fіle"])
def test_a_name_that_passes_for_latin_is_disguised(name: str):
    assert is_disguised(name)


@pytest.mark.parametrize(
    "name", ["read_file", "täglich", "naïve", "читать_файл", "get_日本", "ελληνικά", "наш api", "x²"]
)
def test_a_name_in_a_script_of_its_own_is_not(name: str):
    assert not is_disguised(name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1ist", "list"),
        ("Iist", "list"),
        ("m0dem", "modem"),
        ("modern", "modem"),
        ("rеad", "read"),
        ("vvrite", "write"),
    ],
)
def test_names_that_look_alike_have_one_skeleton(one: str, other: str):
    assert skeleton(one) == skeleton(other)


def test_names_that_differ_have_two():
    assert skeleton("list_a") != skeleton("list_b")
