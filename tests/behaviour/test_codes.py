"""Every error code is raised here, through a door that a user has, and reads as its page shows it."""

import re
from pathlib import Path

import pytest

from bascule.core.error_codes import CODES
from behaviour.codes import command, door, program
from behaviour.codes.table import raises
from support.error_pages import PAGES, head, index
from support.shown import Scenario, same_each_time

pytestmark = pytest.mark.requirement("UX-3")

FILLED_BY = (command, door, program)

CASES = [(code, number, scenario) for code, all_ in raises.by_code.items() for number, scenario in enumerate(all_)]

ELSEWHERE = Path(__file__).with_name("weakincentives") / "test_codes.py"
NEWER_PYTHON = {*re.findall(r'^    "(BSC-\d+)": \w+,$', ELSEWHERE.read_text("utf-8"), re.MULTILINE)}
"""Of the bridge that this Python cannot import. They are raised there, and their pages held against it."""

OWN_WORDS = {"BSC-701": "what to do is for the tool to say"}

EMPTY = re.compile(r"(try|begin|call) again( later)?\.?|fix it|correct it|check it")
"""Fixes that say nothing."""


def shown_in(code: str) -> list[str]:
    return re.findall(r"^```text\n(.*?)\n```$", (PAGES / f"{code}.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("code", "number", "scenario"), CASES, ids=[each[2].__name__ for each in CASES])
async def test_a_code_is_raised_and_reads_as_its_page_shows(
    code: str, number: int, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    text = same_each_time(await scenario(tmp_path), tmp_path)

    assert code in text
    assert text == shown_in(code)[number]
    if not text.startswith("HTTP "):
        assert re.match(rf"{code}  \S.{{8,}}", text)
        assert text.endswith(f"\n  more:     bascule explain {code}")
        fix = re.search(r"^  fix: +(.*)$", text, re.MULTILINE)
        assert code in OWN_WORDS or (fix and len(fix[1].split()) > 3 and not EMPTY.fullmatch(fix[1])), text


def test_every_code_is_raised():
    assert {*raises.by_code} | NEWER_PYTHON == {*CODES}


def test_a_page_shows_as_many_texts_as_there_are_scenarios():
    made = {code: len(raises.by_code.get(code, [])) for code in CODES} | dict.fromkeys(NEWER_PYTHON, 1)
    assert {code: len(shown_in(code)) for code in CODES} == made


def test_there_is_a_page_for_every_code_and_for_nothing_else():
    assert {page.stem for page in PAGES.glob("*.md")} == {*CODES, "index"}
    assert (PAGES / "index.md").read_text("utf-8") == index()


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_its_frame_and_says_what_it_is_why_and_what_to_do(code: str):
    page = (PAGES / f"{code}.md").read_text("utf-8")

    assert page.startswith(head(code))
    assert re.search(r"## Why it happens\n\n- \S", page)
    assert re.search(r"## What to do\n\n- \S", page)
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", page) if "://" not in target]
    assert [target for target in targets if not (PAGES / target).exists()] == []
