import argparse
import json
import re
from typing import Any

import pytest

from bascule.cli.commands.explain import run
from bascule.core.error_codes import CODES, Area
from bascule.core.errors import UsageError

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
