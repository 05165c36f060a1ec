"""What was agreed to, put into the lock."""

from pathlib import Path

import pytest

from bascule.catalog.approval import Proposal
from bascule.core.errors import ConfigError
from bascule.core.tool import ToolKey
from bascule.runtime.servers.lock import approve
from support.locks import approved, lock_in, locked_tools
from support.runtime import a_tool

OLD, NEW, OTHER = (a_tool("act", description=text) for text in ("old", "new", "other"))


def proposal() -> Proposal:
    return Proposal(ToolKey("work", "act"), approved(OLD)["act"], approved(NEW)["act"])


def test_what_is_approved_takes_its_place(tmp_path: Path):
    path = lock_in(tmp_path, work=(OLD,))
    approve(path, ["work", "fresh"], [proposal()])
    assert locked_tools(tmp_path) == {"act": NEW}
    assert locked_tools(tmp_path, "fresh") == {}, "locked from now on, with nothing approved"


def test_a_lock_that_says_something_else_by_now_stays(tmp_path: Path):
    path = lock_in(tmp_path, work=(OTHER,))
    with pytest.raises(ConfigError, match="changed meanwhile, and says something else of work/act than you were shown"):
        approve(path, ["work"], [proposal()])
    assert locked_tools(tmp_path)["act"]["description"] == "other"
