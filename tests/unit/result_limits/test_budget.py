"""What fits into a preview."""

from bascule.config.model.result_presets import PRESETS
from bascule.result_limits.budget import Parts, Shown, counted, fit
from bascule.result_limits.source_bytes import clip


def units(*texts: str) -> list[Shown]:
    return [lambda room, text=text: clip(text, room) for text in texts]


def test_all_is_shown_where_there_is_room():
    fitted = fit(Parts("lines", 3, units("a", "b"), units("c")), 500)
    assert fitted.text == "a\nb\nc"
    assert fitted.told == "the first 2 lines, the last 1 line"


def test_what_is_left_out_is_told_with_its_number():
    fitted = fit(Parts("rows", 10, units("a"), units("z"), header=units("names")), 500)
    assert fitted.text == "names\na\n… 8 rows left out …\nz"


def test_lines_with_errors_come_before_the_ends():
    marked = units(*["ERROR " + "e" * 60] * 9)
    parts = Parts(
        "lines", 99, units(*["h" * 80] * 9), units(*["t" * 80] * 9), marked=marked, marked_word="errors", marked_total=9
    )
    fitted = fit(parts, 600)
    assert "ERROR" in fitted.text
    assert "errors, " in fitted.told
    assert len(fitted.text) <= 600


def test_the_longest_are_cut_and_the_others_left_as_they_are():
    fitted = fit(Parts("lines", 3, units("short", "x" * 5000, "also short")), 500)
    assert fitted.text.startswith("short\nxxx")
    assert fitted.text.endswith("x\nalso short")


def test_nothing_is_longer_than_the_room_whatever_it_is():
    parts = Parts(
        "lines",
        9**9,
        units(*["h" * 900] * 30),
        units(*["t" * 900] * 30),
        header=units("n" * 900),
        last=lambda room: "l" * room,
    )
    for room in (-5, 0, 1, 30, 100, PRESETS["default"].characters):
        assert len(fit(parts, room).text) <= max(0, room)


def test_nobody_counted():
    fitted = fit(Parts("rows", None, units("a"), last=lambda room: "the end"[:room]), 500)
    assert fitted.text == "a\n… rows left out …\nthe end"
    assert fitted.told == "the first 1 row, its very end"


def test_one_is_told_in_the_singular():
    assert counted(1, "rows of .rows") == "1 row of .rows"
    assert counted(1000, "lines") == "1,000 lines"
