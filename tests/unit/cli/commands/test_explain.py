""" """

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.commands.explain import PLACES, known_code, page_of, run
from bascule.core.error_codes import CODES, Area
from bascule.core.errors import ConfigError, UsageError

Printed = pytest.CaptureFixture[str]


async def printed(capsys: Printed, code: str | None, *, as_json: bool = False) -> str:
    assert await run(argparse.Namespace(code=code, json=as_json)) == 0
    return capsys.readouterr().out


async def test_a_code_is_answered_with_its_page(capsys: Printed):
    out = await printed(capsys, "bsc-401")

    assert out.startswith(f"# BSC-401: {CODES['BSC-401'].title}\n")
    assert "## What to do" in out


async def test_without_a_code_all_are_listed_by_area(capsys: Printed):
    out = await printed(capsys, None)

    assert re.findall(r"^  (BSC-\d+)  ", out, re.MULTILINE) == [
        code for area in Area for code, known in CODES.items() if known.area is area
    ]
    assert re.findall(r"^\S.*", out, re.MULTILINE) == [*Area]


async def test_for_programs_the_page_is_one_value(capsys: Printed):
    shape: dict[str, Any] = json.loads(await printed(capsys, "BSC-100", as_json=True))

    assert (shape["code"], shape["title"], shape["area"]) == ("BSC-100", "The config is wrong", "The config")
    assert shape["page"].startswith("# BSC-100")


async def test_for_programs_the_list_names_each_code_once(capsys: Printed):
    shape: dict[str, Any] = json.loads(await printed(capsys, None, as_json=True))

    assert [row["code"] for row in shape["codes"]] == [*CODES]


async def test_an_unknown_code_is_a_mistake_of_the_caller():
    with pytest.raises(UsageError, match="there is no error code 'BSC-999'"):
        await run(argparse.Namespace(code="BSC-999", json=False))


@pytest.mark.parametrize("word", ["BSC-401", "bsc-401", "BSC401", "401", "bsc_401"])
def test_a_code_is_known_however_it_is_written(word: str):
    assert known_code(word) == "BSC-401"


@pytest.mark.parametrize("word", ["BSC-999", "", "BSC-", "everything", "../../etc/passwd"])
def test_what_is_no_code_is_told_with_where_the_codes_are(word: str):
    with pytest.raises(UsageError) as raised:
        known_code(word)

    assert "bascule explain" in raised.value.fix


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_page_in_the_checkout(code: str):
    assert page_of(code, PLACES[1:]).startswith(f"# {code}: {CODES[code].title}\n")


def test_the_pages_that_were_installed_come_first(tmp_path: Path):
    (tmp_path / "BSC-401.md").write_text("installed")

    assert page_of("BSC-401", [tmp_path / "nowhere", tmp_path, *PLACES]) == "installed"


def test_pages_that_are_missing_are_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="is not where it belongs"):
        page_of("BSC-401", [tmp_path])
