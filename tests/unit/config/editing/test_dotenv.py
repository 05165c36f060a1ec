"""Credentials put into `.env`."""

import stat
from pathlib import Path

import pytest

from bascule.config.editing.dotenv import dotenv_with
from bascule.config.variables import read_dotenv

ODD = ["plain", "with 'quotes'", 'and "others"', "a # b", "back\\slash", "'both\\\" of'", "line\nline", "$x ${y}", ""]


@pytest.mark.parametrize("value", ODD)
def test_what_is_put_in_is_what_is_read(tmp_path: Path, value: str):
    path = tmp_path / ".env"
    dotenv_with(path, {"A": value}).write()

    assert read_dotenv(path) == ({"A": value}, ())


def test_what_is_set_already_stays(tmp_path: Path):
    path = tmp_path / ".env"
    path.write_text("A=mine # note")
    dotenv_with(path, {"A": "theirs", "B": "b"}).write()

    assert path.read_text() == "A=mine # note\nB='b'\n"


def test_a_new_one_is_for_the_user_alone(tmp_path: Path):
    path = tmp_path / ".env"
    dotenv_with(path, {"A": "a"}).write()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
