"""What a private dataset may be called."""

import pytest

from bascule.core.errors import UsageError
from bascule.sensitivity.private_data import check_dataset


@pytest.mark.parametrize("name", ["patients", "Kunden 2026", "x" * 255])
def test_a_name_that_can_be_read_is_good(name: str):
    check_dataset(name)


@pytest.mark.parametrize("name", ["", "x" * 256, "two\nlines", "\x1b[2J"])
def test_any_other_is_refused_with_a_fix(name: str):
    with pytest.raises(UsageError) as caught:
        check_dataset(name)
    assert caught.value.fix
