"""Each page of an error says what a client of the gateway gets, and a client really gets it."""

import os
from pathlib import Path

import pytest

from bascule.core.error_codes import CODES
from behaviour.codes.answers import NOT_MET, Answering, answers, section
from behaviour.codes.command import a_file_stands_where_the_audit_log_belongs
from support.command import bascule
from support.doctor import REWRITE
from support.error_pages import PAGES
from support.kit_http import Answered
from support.ports import free_port

pytestmark = pytest.mark.requirement("UX-3")

TITLE = "\n## What a client of the gateway gets\n\n"
END = "\n\nSee also: "
ONE_ERA = {"BSC-409"}
"""Of the new era alone: in the old one a server asks beside the request, and the client is asked so too."""

OTHERS = {
    "BSC-405": "-32050",  # What the server said is passed on as it is.
    "BSC-409": "input_required",  # Nothing has failed.
    "BSC-700": "BSC-701",  # The error of a tool, with the mark by which a client stops.
}
"""What stands in an answer in the place of the code."""


def says(code: str, told: str) -> None:
    """Whether the page says just this. With the variable that `support.doctor` names, it is written there."""
    page = PAGES / f"{code}.md"
    text = page.read_text("utf-8")
    head, _, tail = text.partition(END)
    if os.environ.get(REWRITE):
        page.write_text(f"{head.partition(TITLE)[0].rstrip()}\n{TITLE}{told}{END}{tail}", "utf-8")
    else:
        assert head.partition(TITLE)[2] == told, f"write the page anew with {REWRITE}=1"


async def answered(answering: Answering, folder: Path, monkeypatch: pytest.MonkeyPatch, *, new: bool) -> Answered:
    place = folder / ("new" if new else "old")
    place.mkdir()
    monkeypatch.setenv("BASCULE_HOME", str(place / "state"))
    return await answering(place, new)


@pytest.mark.parametrize("code", answers.by_code)
async def test_a_client_gets_what_the_page_says(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    eras = (True,) if code in ONE_ERA else (True, False)
    met = [await answered(answers.by_code[code], tmp_path, monkeypatch, new=new) for new in eras]

    assert all(OTHERS.get(code, code).encode() in answer.body for answer in met), met
    says(code, section(met))


@pytest.mark.parametrize("code", NOT_MET)
def test_a_page_says_why_no_client_is_told_of_it(code: str):
    says(code, NOT_MET[code])


def test_every_page_says_it():
    assert answers.by_code.keys() | NOT_MET.keys() == {*CODES}
    assert not answers.by_code.keys() & NOT_MET.keys()


async def test_a_gateway_that_cannot_keep_what_it_must_does_not_start(tmp_path: Path):
    await a_file_stands_where_the_audit_log_belongs(tmp_path)
    ran = await bascule(tmp_path, "serve", "--dev", "--port", str(free_port()))

    assert ran.code not in {0, 130}
    assert "BSC-650" in ran.err
