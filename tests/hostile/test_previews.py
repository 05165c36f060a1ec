"""Results made to break a preview: each fits its bound, is saved as it is, and takes little more memory than it has."""

import csv
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bascule.config.model.result_presets import CHARACTERS_LEAST, PRESETS, Preset
from bascule.core.errors import NoRoom
from bascule.result_limits.limiter import Limited, limited
from bascule.result_limits.shrink import shrunk
from bascule.result_limits.to_json import written

EXAMPLES = 1500 if os.environ.get("BASCULE_SOAK") == "1" else 150
SMALL = Preset(characters=CHARACTERS_LEAST)
EVERY = {**PRESETS, "small": SMALL, "no_ends": Preset(1000, 0, 0, 0, 0, 0, 0, 1)}


class Folder:
    """Where a test saves what it is given."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def save(self, path: str, data: bytes) -> None:
        self.files[path] = data


def kept_whole(value: Any, preset: Preset, original: bytes | None = None) -> Limited | None:
    """What came of it, with every promise looked at."""
    folder = Folder()
    found = limited(value, preset, folder.save)
    if found is None:
        assert not folder.files
        return None
    assert len(found.preview) <= preset.characters
    found.preview.encode()
    ((path, data),) = folder.files.items()
    assert path in found.preview
    assert f"{len(data):,} bytes" in found.preview
    if original is None:
        original = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    assert data == original
    return found


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


def wide_csv(columns: int, rows: int) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([f"column_{n}" for n in range(columns)])
    writer.writerows([[row * n for n in range(columns)] for row in range(rows)])
    return out.getvalue()


NASTY: dict[str, Any] = {
    "one line": "x" * 200_000,
    "one line of emoji": "👩‍👩‍👧" * 50_000,
    "only line ends": "\n" * 100_000,
    "only carriage returns": "\r" * 100_000,
    "nul bytes": b"\0" * 100_000,
    "no UTF-8": bytes(range(256)) * 400,
    "half a character at the end": "é".encode() * 50_000 + b"\xc3",
    "half a character": "a" * 9_000 + "\ud800" + "b" * 9_000,
    "control characters": "\x1b[31m" * 20_000,
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "deep JSON with names": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "JSON that never ends": '{"rows": [' + '{"a": 1}, ' * 100_000,
    "JSON ends without a middle": "[" + "x" * 400_000 + "]",
    "JSON with one long text": json.dumps({"text": "x" * 400_000}),
    "JSON with one long name": json.dumps({"x" * 400_000: 1}),
    "JSON in one list": json.dumps({"result": [{"id": n, "name": "n" * 20} for n in range(20_000)]}),
    "JSON of spaces": "[" + " " * 600_000 + "]",
    "JSON of commas": "[" + "," * 600_000 + "]",
    "JSON of one number": "[" + "1" * 600_000 + "]",
    "wide CSV": wide_csv(5_000, 20),
    "very wide CSV": wide_csv(60_000, 3),
    "CSV with an open quote": 'a,b,c\n1,2,3\n4,5,6\n7,"' + "8,\n" * 40_000,
    "CSV of quotes": '"a","b"\n' * 3 + '"""","\n\n"\n' * 20_000,
    "a table of one column": "| a |\n|---|\n" + "| x |\n" * 20_000,
    "a table with a long rule": "a | b\n" + "-" * 50_000 + "+" + "-" * 50_000 + "\n1 | 2\n",
    "a log of errors": "2026-01-01 00:00:00 ERROR x\n" * 20_000,
    "a log in one line": "2026-01-01 00:00:00 INFO a\n" * 3 + "ERROR " * 40_000,
    "words that could be errors": "2026-01-01 00:00:00 INFO " + "a" * 200_000 + "\n",
    "dots that could be errors": "2026-01-01 00:00:00 INFO\n" * 100 + "a." * 100_000,
}


@pytest.mark.parametrize("preset", EVERY)
@pytest.mark.parametrize("name", NASTY)
def test_a_preview_fits_and_the_file_is_the_result(name: str, preset: str):
    assert kept_whole(NASTY[name], EVERY[preset])


VALUES: dict[str, Any] = {
    "many rows": [{"id": n, "text": "t" * 30} for n in range(5_000)],
    "wide rows": [{f"column_{n}": n for n in range(3_000)} for _ in range(10)],
    "one long text": {"text": "x" * 100_000},
    "long names": {f"{n}" + "k" * 5_000: n for n in range(50)},
    "nested lists": [[[list(range(50))] * 50] * 50] * 5,
    "numbers": list(range(50_000)),
    "quotes": ['"\\\n' * 100 for _ in range(300)],
}


@pytest.mark.parametrize("preset", EVERY)
@pytest.mark.parametrize("name", VALUES)
def test_a_list_or_an_object_is_kept_as_json_and_shrinks_to_its_own_type(name: str, preset: str):
    value, bound = VALUES[name], EVERY[preset]
    found = kept_whole(value, bound, written(value))
    assert found is not None
    assert json.loads(found.look.whole.data) == value
    less = shrunk(value, bound, found.notice)
    assert type(less) is type(value)
    assert len(json.dumps(less, separators=(",", ":"), ensure_ascii=False)) <= bound.characters
    assert found.kept.path in json.dumps(less)


@pytest.mark.long
def test_a_value_deeper_than_the_stack_is_kept_whole():
    value = deep(50_000)
    found = kept_whole(value, SMALL, written(value))
    assert found is not None
    assert found.look.whole.data.count(b"{") == 25_000
    assert b"bottom" in found.look.whole.data


def test_a_value_that_holds_itself_ends():
    value: list[Any] = ["x" * 2_000]
    value.append(value)
    found = limited(value, SMALL, Folder().save)
    assert found is not None
    assert len(found.preview) <= SMALL.characters


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSONS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(), inner, max_size=8), max_leaves=60
)
PRESET = st.builds(
    Preset,
    characters=st.integers(CHARACTERS_LEAST, 3_000),
    **{name: st.integers(0, 60) for name in ("head_rows", "tail_rows", "head_lines", "tail_lines")},
    **{name: st.integers(0, 60) for name in ("head_items", "tail_items")},
    keys=st.integers(1, 60),
)
MARKS = st.sampled_from(
    [*',;\t|-+"\n\r[]{}: \\\0é👩', "\ud800", "ERROR ", "2026-01-01 00:00:00 ", "\n|--|--|\n", "a,b\n"]
)
PIECES = st.lists(MARKS | st.text(max_size=5), max_size=30).map("".join)


@settings(max_examples=EXAMPLES, deadline=None, database=None)
@given(piece=PIECES, times=st.integers(1, 4_000), preset=PRESET)
@example(piece='"', times=2_000, preset=SMALL)
@pytest.mark.long
def test_any_text_fits(piece: str, times: int, preset: Preset):
    text = piece * times
    found = kept_whole(text, preset)
    assert (found is None) == (len(text) <= preset.characters)


@settings(max_examples=EXAMPLES, deadline=None, database=None)
@given(piece=st.binary(max_size=60), times=st.integers(1, 4_000), preset=PRESET)
@pytest.mark.long
def test_any_bytes_fit(piece: bytes, times: int, preset: Preset):
    data = piece * times
    found = kept_whole(data, preset)
    assert found is not None or len(data) <= preset.characters or len(data.decode()) <= preset.characters


@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None, database=None)
@given(value=st.lists(JSONS, max_size=8) | st.dictionaries(st.text(), JSONS, max_size=8), times=st.integers(1, 300))
def test_any_json_value_fits(value: Any, times: int):
    many: Any = (
        value * times if isinstance(value, list) else {f"{n}{key}": v for n in range(times) for key, v in value.items()}
    )
    found = kept_whole(many, SMALL, written(many))
    if found is not None:
        less = shrunk(many, SMALL, found.notice)
        assert type(less) is type(many)
        assert len(written(less).decode()) <= SMALL.characters
        text = written(many).decode()
        assert kept_whole(text, SMALL) is not None


@pytest.mark.long
def test_where_nothing_can_be_saved_a_preview_is_all_there_is():
    def full(path: str, data: bytes) -> None:
        raise NoRoom(f"no room for {path}: the quota is used up" + "!" * 5_000)

    for name, value in NASTY.items():
        found = limited(value, SMALL, full)
        assert found is not None, name
        assert len(found.preview) <= SMALL.characters
        assert "could not be saved, and what is not shown here is lost: no room for /workspace" in found.preview


HUGE = {
    "one line": "'x' * SIZE",
    "lines": "'a line of some words that goes on for a while\\n' * (SIZE // 47)",
    "JSON rows": "'[' + '{\"id\": 1, \"name\": \"somebody\"},' * (SIZE // 31) + '{}]'",
    "JSON of ones": "'[' + '1,' * (SIZE // 2) + '1]'",
    "JSON of objects": "'[' + '{},' * (SIZE // 3) + '1]'",
    "deep JSON": "'[' * (SIZE // 2) + ']' * (SIZE // 2)",
    "CSV": "'a,b,c\\n' + '1,\"2 and more\",3\\n' * (SIZE // 19)",
    "log": "'2026-01-01 00:00:00 INFO all is well\\n' * (SIZE // 37)",
    "log of errors": "'2026-01-01 00:00:00 ERROR no\\n' * (SIZE // 29)",
    "emoji": "'\\U0001F600' * (SIZE // 4)",
    "bytes with one emoji": "(b'x' * SIZE) + '\\U0001F600'.encode()",
    "bytes": "bytes(range(256)) * (SIZE // 256)",
    "a list of texts": "['x' * 1000] * (SIZE // 1000)",
}

MEASURED = """
import sys
sys.path.insert(0, {tests!r})
from support.memory import measured_growth
from bascule.config.model.result_presets import PRESETS
from bascule.result_limits.limiter import limited
SIZE = {size}
value = {value}
saved = []
def save(path, data):
    with open({file!r}, "wb") as out:
        out.write(data)
with measured_growth() as growth:
    found = limited(value, PRESETS["default"], save)
assert len(found.preview) <= 5000
print(growth.peak)
"""


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_result_takes_little_memory(name: str, scale: int, tmp_path: Path):
    size = scale * 10_000_000
    tests = str(Path(__file__).parents[1])
    script = MEASURED.format(tests=tests, size=size, value=HUGE[name], file=str(tmp_path / "whole"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 3 * size
    assert (tmp_path / "whole").stat().st_size > size * 8 // 10


def test_kinds_are_not_mixed_up_by_chance():
    """Text made of random words and commas is shown as lines."""
    words = random.Random(7)
    for _ in range(50):
        lines = [", ".join("word" * words.randint(1, 4) for _ in range(3)) + "." for _ in range(400)]
        found = limited("\n".join(lines), SMALL, None)
        assert found is not None
        assert ": text," in found.preview
