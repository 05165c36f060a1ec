"""What every engine does with boxes."""

from bascule.sandbox.spec.engine import Ended


def test_what_has_ended_tells_its_code_and_its_last_words() -> None:
    assert Ended(3, "no such package") == Ended(code=3, output="no such package")
