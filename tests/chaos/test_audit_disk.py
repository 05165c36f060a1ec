"""A disk that is full for a while, under a runtime that works."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.auditing import checked, logged
from support.runtime import calls_in

PROGRAM = Path(__file__).with_name("audit_disk.py")
REFUSED = "denied BSC-304"


async def test_what_cannot_be_written_down_is_not_done_and_work_goes_on_once_there_is_room(tmp_path: Path):
    state, log = tmp_path / "state", tmp_path / "writes"
    argv = [sys.executable, str(PROGRAM), str(state), str(log)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)

    assert told["before"] == told["after"] == [["ok", "ok"]]
    # There is room for a record or two. Then nothing is changed any more, and everything is still read.
    refused = told["full"].index([REFUSED, "ok"])
    assert refused <= 2
    assert told["full"][refused:] == [[REFUSED, "ok"]] * (8 - refused)
    assert told["whole"]
    assert told["raises"] == ["OutcomeWithheld, CONFIDENTIAL"] * 2 + ["done, CONFIDENTIAL"]
    # What was refused was never sent, and nothing that was done is missing, in order.
    done = len(told["before"]) + refused + len(told["after"])
    assert len(calls_in(log)) == done
    assert len(calls_in(tmp_path / "reads")) == 10
    ends = [(one["server"], one["outcome"]) for one in logged(state, "ended")]
    assert ends.count(("writes", "ok")) == done
    assert ends.count(("writes", "denied")) == 8 - refused
    assert ends.count(("reads", "ok")) == 10
    assert [one["seq"] for one in logged(state)] == [*range(1, len(logged(state)) + 1)]
    assert [one["after"] for one in logged(state, "level")] == ["confidential"]
    assert (await checked(state)).ok
