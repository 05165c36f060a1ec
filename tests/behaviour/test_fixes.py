"""The fix that an error names is followed, and the error is gone."""

import re
from pathlib import Path

import pytest

from behaviour.codes import mending_programs
from behaviour.codes.mending import mends
from behaviour.codes.table import raises
from support.shown import Scenario

pytestmark = pytest.mark.requirement("UX-3")

FILLED_BY = mending_programs

ALL = [scenario for each in raises.by_code.values() for scenario in each]


def named_in(text: str) -> str:
    """The fix in what was printed; over HTTP it is a part of the message."""
    found = re.search(r"^  fix: +(.*)$", text, re.MULTILINE)
    return found[1] if found else text


@pytest.mark.parametrize("scenario", [each for each in ALL if each in mends], ids=lambda scenario: scenario.__name__)
async def test_who_does_what_the_fix_says_is_rid_of_the_error(
    scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    said = named_in(await scenario(tmp_path))

    await mends[scenario](tmp_path, said)


def test_every_fix_is_followed():
    assert {*mends} >= {*ALL}
