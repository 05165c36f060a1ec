"""Levels in words."""

from pathlib import Path

import pytest

from bascule.cli.output.level_messages import advised, how_to_go_on, named, raised, served
from bascule.core.events import LevelChanged
from bascule.core.outcome import FailureKind, ToolFailure
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord
from support.runtime import at_work, obeying, ratchet_of

ALICE = Principal("alice", "s-1")
DENIED = ToolFailure(FailureKind.DENIED, "BSC-300", "no", fix="ask")


def test_what_was_raised_is_told_with_its_cause_and_what_was_done():
    change = LevelChanged(
        ALICE,
        "raise",
        DataSensitivity.PUBLIC,
        DataSensitivity.SECRET,
        Cause("raises rule", "files", "read"),
        ("files (open)",),
        {"web": "refused", "files": "declared"},
        1.0,
    )
    assert raised(change) == (
        "alice/s-1 is now SECRET, was PUBLIC (raises rule of files/read); its lane is sealed; closed: files (open); "
        "from now on: files declared, web refused"
    )
    assert served({}) == ""


@pytest.mark.parametrize(("user", "words"), [("alice", "--user alice"), ("auth0|1 2", "--user 'auth0|1 2'")])
def test_an_agent_session_is_named_as_a_shell_takes_it(user: str, words: str):
    assert named(Principal(user, "s-1")) == f"{words} --session s-1"


async def test_only_an_agent_session_that_is_in_the_way_is_told_how_to_go_on(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        await session.begin()
        limit = ToolFailure(FailureKind.DENIED, "BSC-301", "too many", fix="wait")
        assert how_to_go_on(session) == ""
        assert advised(DENIED, session) is DENIED

        ratchet_of(session).hold(DataSensitivity.SECRET, "seen in a test")
        advice = how_to_go_on(session)
        assert "alice/s-1 is SECRET" in advice
        assert "`bascule sessions show --user alice --session s-1`" in advice
        assert "--session ID" in advice
        told = advised(DENIED, session)
        assert isinstance(told, ToolFailure)
        assert told.fix == f"ask; {advice}"
        failed = ToolFailure(FailureKind.TOOL_ERROR, "BSC-405", "no")
        assert [advised(outcome, session) for outcome in (limit, failed, "fine")] == [limit, failed, "fine"]

        ratchet_of(session).follow(SessionRecord(ALICE, DataSensitivity.PUBLIC, 1, ended=True))
        assert session.ended
        assert "alice/s-1 was ended" in how_to_go_on(session)
