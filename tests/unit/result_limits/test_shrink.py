"""Values made smaller that stay what they are."""

from typing import Any

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.shrink import NOTICE, shrunk
from bascule.result_limits.to_json import written

PRESET = Preset(characters=1000)


@pytest.mark.parametrize(
    "value",
    [
        [{"id": n, "text": "x" * 300} for n in range(50)],
        {"rows": [{"id": n} for n in range(5000)], "total": 5000},
        ["word"] * 5000,
        {str(n): n for n in range(5000)},
        {"a": {"b": {"c": ["x" * 90] * 900}}},
    ],
)
def test_it_fits_and_tells_that_it_is_a_part(value: Any):
    less = shrunk(value, PRESET, "[a part]")
    assert len(written(less).decode()) <= 1000
    assert type(less) is type(value)
    assert less != value
    if isinstance(less, dict):
        assert less[NOTICE] == "[a part]"
    else:
        assert less[0] == ({NOTICE: "[a part]"} if isinstance(value[0], dict) else "[a part]")
        assert {type(item) for item in less} == {type(item) for item in value}


def test_what_cannot_be_made_small_enough_is_left_out():
    hopeless = {"k" * 16 + str(n): [[[[1e300]]]] for n in range(3)}
    assert shrunk({"a": 10**990}, PRESET, "[a part]") == {NOTICE: "[a part]"}
    assert NOTICE in shrunk(hopeless, PRESET, "[a part]")
