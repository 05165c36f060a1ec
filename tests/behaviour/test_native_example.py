"""The example of native tools runs as it stands, and prints what it should."""

import asyncio
from pathlib import Path

import pytest

from support.command import environment
from support.waiting import fail_after
from support.warm import python

EXAMPLE = Path(__file__).parents[2] / "examples/native/desk.py"

PRINTED = """\
desk_stock read
desk_order write
desk_post connect
12
tool_error: there is no milk; there are tea, coffee (retriable=true)
item: tea
count: 2
by: alice
tool_error: at most 10 can be ordered at once (retriable=true)
12
denied: this agent session has seen confidential data (dataset 'customers'); desk is functions of this program, of which \
only those go on that do not connect, and desk_post may connect
"""


@pytest.mark.requirement("CAT-10")
async def test_the_example_of_native_tools_runs(tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        *(python(), str(EXAMPLE)),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with fail_after(60, "the example"):
        out, err = await process.communicate()

    assert (process.returncode, err.decode()) == (0, "")
    assert out.decode() == PRINTED
