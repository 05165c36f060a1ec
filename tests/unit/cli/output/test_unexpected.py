"""Unexpected exceptions as errors."""

from pathlib import Path
from typing import Any

import pytest

from bascule.cli.main import main
from bascule.cli.output.unexpected import MOST_PLACES, unforeseen
from bascule.core.errors import UsageError
from bascule.wire.framing import as_line


def of_ours() -> Exception:
    with pytest.raises(Exception) as caught:
        as_line(None)  # pyright: ignore[reportArgumentType]
    return caught.value


def test_it_names_what_it_was_and_where_in_our_code():
    error = unforeseen(of_ours())

    assert (error.code, error.message) == ("BSC-000", "nobody foresaw what ended the command: TypeError")
    first, place = error.evidence.split("\n")
    assert first.startswith("TypeError: ")
    assert place.startswith("at bascule/wire/framing.py:")
    assert "`bascule --version`" in error.fix


def test_what_is_not_of_our_code_has_no_place_in_it():
    assert unforeseen(ValueError("x")).evidence == "ValueError: x"


def test_what_the_machine_says_comes_first():
    error = unforeseen(OSError(28, "No space left on device", "out.txt"))

    assert error.message == "the machine did not let the command go on: No space left on device"
    assert error.fix.startswith("see to what the machine says")


def test_no_more_places_are_told_than_help():
    # As if it stood in that file.
    code = compile("def nested(n):\n    return nested(n - 1) if n else 1 / 0", unforeseen.__code__.co_filename, "exec")
    space = dict[str, Any]()
    exec(code, space)
    with pytest.raises(ZeroDivisionError) as caught:
        space["nested"](9)
    assert unforeseen(caught.value).evidence.count("unexpected.py:") == MOST_PLACES


def test_a_folder_that_was_removed_under_the_user_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert isinstance(unforeseen(FileNotFoundError()), UsageError)
    assert main(["list"]) == 2
    assert capsys.readouterr().err.startswith("BSC-200  the folder you are in is not there any more\n")
    monkeypatch.chdir(tmp_path)
    assert unforeseen(FileNotFoundError(2, "No such file or directory")).code == "BSC-000"
