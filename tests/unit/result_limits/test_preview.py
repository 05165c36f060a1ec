"""The notice, and the whole preview."""

import pytest

from bascule.config.model.result_presets import Preset
from bascule.result_limits.content_type import Kind
from bascule.result_limits.preview import Kept, look_at
from bascule.result_limits.source_bytes import Whole

PRESET = Preset(characters=1000)
KEPT = Kept("/workspace/results/x.txt")


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("a line\n" * 500, Kind.TEXT, "text, 3,500 characters, 3,500 bytes, 500 lines. Shown: the first "),
        ("é" * 3000, Kind.TEXT, "text, 3,000 characters, 6,000 bytes, 1 line. Shown: the first 1 line. "),
        (
            "a,b\n" + "1,2\n" * 900,
            Kind.CSV,
            "CSV, 3,604 characters, 3,604 bytes, 900 rows, 2 columns. Shown: the first 20 rows, the last 10 rows. ",
        ),
        (
            "[" + "1," * 900 + "1]",
            Kind.JSON,
            "JSON, 1,803 characters, 1,803 bytes, 901 items. Shown: the first 10 items, the last 5 items. ",
        ),
        ("[" + "x," * 900 + "1]", Kind.TEXT, "text, 1,803 characters, 1,803 bytes, 1 line. Shown: the first 1 line. "),
    ],
)
def test_it_says_what_it_is_how_much_there_is_and_what_is_shown(text: str, kind: Kind, told: str):
    look = look_at(Whole.of_text(text), PRESET)
    assert look.kind is kind
    preview = look.preview(1000, KEPT)
    assert preview.startswith(f"[A part of a long result: {told}")
    assert "The whole is in /workspace/results/x.txt]\n" in preview
    assert len(preview) <= 1000


def test_every_kind_has_its_own_look():
    table = look_at(Whole.of_text("| a |\n|---|\n" + "| 1 |\n" * 500), PRESET)
    log = look_at(Whole.of_text("ERROR x\n" * 500), PRESET)
    assert (table.parts.word, table.parts.total) == ("rows", 500)
    assert log.parts.marked_total == 500 - 70
    assert look_at(Whole.of_bytes(b"\xff" * 2000), PRESET).preview(1000, KEPT).count("\\xff") > 100


def test_a_value_is_looked_at_as_it_is():
    value = [{"a": 1}] * 900
    look = look_at(Whole.of_value(value), PRESET, value)
    assert (look.kind, look.parts.word) == (Kind.JSON, "rows")


def test_what_could_not_be_saved_is_said_to_be_lost_and_why():
    preview = look_at(Whole.of_text("x" * 2000), PRESET).preview(1000, Kept(problem="no\nroom " * 200))
    assert "could not be saved, and what is not shown here is lost: no room no room" in preview
    assert len(preview) <= 1000
