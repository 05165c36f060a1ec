"""The worst first, in 80 columns, and one line at the end."""

from bascule.cli.doctor.check import Check
from bascule.cli.doctor.report import WIDTH, screen, verdict

OK, WARN = Check("config", "ok", "fine"), Check("tool a", "warn", "odd")
FAIL = Check("state", "fail", "word " * 40, "seen " * 40, "run `chmod 700 x`, or not")


def test_what_fails_stands_before_what_warns_and_that_before_the_rest():
    shown = screen([OK, WARN, Check("server s", "fail", "bad"), FAIL])

    assert shown.index("✗ state") < shown.index("✗ server s") < shown.index("! tool a")
    assert shown.index("✗ state") < shown.index("✓ config")
    assert max(map(len, shown.splitlines())) <= WIDTH


def test_the_last_line_counts_and_names_the_first_command():
    assert verdict([OK]) == "all is well"
    assert verdict([OK, WARN]) == "all is well, with 1 warning"
    assert verdict([WARN, FAIL]) == "1 to mend, and 1 warning; first run: chmod 700 x"
    assert verdict([Check("server s", "fail", "bad", fix="think")]) == "1 to mend; first server s: think"


def test_of_a_server_that_fails_only_that_is_shown():
    shown = screen([Check("server s", "fail", "bad"), Check("footing s", "ok", "loose"), Check("footing t", "ok", "x")])

    assert "footing s" not in shown
    assert "footing t" in shown


def test_what_is_in_order_has_no_evidence():
    assert screen([Check("config", "ok", "fine", "seen", "do")]) == "config and state\n  ✓ config: fine\n\nall is well"
