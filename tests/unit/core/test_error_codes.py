import re

import pytest

from bascule.core.error_codes import CODES, Area


@pytest.mark.parametrize(("code", "title"), [(code, known.title) for code, known in CODES.items()])
def test_a_code_is_three_digits_and_a_title_a_few_words(code: str, title: str):
    assert re.fullmatch(r"BSC-\d{3}", code)
    assert re.fullmatch(r"[A-Z].{10,60}[^.]", title)


def test_no_two_codes_have_the_same_title():
    assert len({known.title for known in CODES.values()}) == len(CODES)


def test_every_area_has_a_code():
    assert {known.area for known in CODES.values()} == {*Area}
