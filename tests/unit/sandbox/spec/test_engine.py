"""Exec in a container, and its result, as data."""

from bascule.sandbox.spec.engine import Ended, Run


def test_what_has_ended_tells_its_code_and_its_last_words() -> None:
    assert Ended(3, "no such package") == Ended(code=3, output="no such package")


def test_what_is_run_does_not_show_its_environment_by_accident() -> None:
    assert "hunter2" not in repr(Run("box", ("server",), {"TOKEN": "hunter2"}))
