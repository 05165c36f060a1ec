"""One row for each server."""

from bascule.cli.views.up_rows import Row, Rows, row_shape
from bascule.core.errors import ConnectFailed
from bascule.core.events import ConfigApplied, LinkChanged
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState
from support.links import ALICE

READY = ServerReport("work", "stdio", LinkState.READY, agreement=Agreement("2026-07-28", {}, {}, ""), tools=3)
ERROR = ConnectFailed("gone", evidence="exit 3", fix="mend it")


def change(state: str, reason: str = "", at: float = 1.0) -> LinkChanged:
    return LinkChanged("work", Lane.OPEN, ALICE, state, reason, at)


def row(rows: Rows, report: ServerReport = READY) -> Row:
    (only,) = rows.of((report,))
    return only


def applied(**names: tuple[str, ...]) -> ConfigApplied:
    return ConfigApplied(**{"added": (), "removed": (), "restarted": (), "retuned": (), **names}, notes=(), at=1.0)


def test_before_anything_was_told_a_row_is_what_the_report_says():
    unset = ServerReport("work", "http", LinkState.FAILED, "TOKEN is not set", error=ERROR)

    assert row(Rows(), unset) == Row("work", "http", "failed", "TOKEN is not set", None, 0, 0, ERROR)


def test_what_a_link_told_last_counts():
    rows = Rows()
    rows.note(change("ready", at=2.0))
    assert row(rows) == Row("work", "stdio", "ready", "", "2026-07-28", 3, 0)
    assert row(rows).at == 2.0

    rows.note(change("failed", "the server was ended by signal 9"))
    assert row(rows) == Row("work", "stdio", "failed", "the server was ended by signal 9", None, 0, 0)


def test_every_time_it_comes_back_is_counted():
    rows = Rows()
    for state in ("connecting", "ready", "failed", "connecting", "degraded", "failed", "connecting"):
        rows.note(change(state))
    assert row(rows).restarts == 1

    rows.note(change("ready"))
    assert row(rows).restarts == 2


def test_a_server_that_came_back_is_not_shown_with_why_it_had_failed():
    rows = Rows()
    failed = ServerReport("work", "stdio", LinkState.FAILED, error=ERROR)
    rows.note(change("failed", "gone"))
    assert row(rows, failed).error is ERROR

    rows.note(change("ready"))
    assert row(rows, failed).error is None


def test_what_was_told_of_another_server_by_the_name_is_forgotten():
    rows = Rows()
    for state in ("ready", "closed"):
        rows.note(change(state))
    rows.forget(applied(restarted=("work",), retuned=("other",)))
    assert row(rows, ServerReport("work", "stdio", LinkState.CONFIGURED)).state == "configured"
    rows.note(change("ready"))
    assert row(rows).restarts == 1

    rows.forget(applied(removed=("work", "never-seen")))
    rows.note(change("ready"))
    assert row(rows).restarts == 0


def test_a_row_has_exactly_the_documented_keys():
    assert row_shape(Row("work", "stdio", "failed", "gone", None, 0, 2, ERROR, at=5.0), now=9.0) == {
        "event": "server",
        "name": "work",
        "transport": "stdio",
        "state": "failed",
        "reason": "gone",
        "era": None,
        "tools": 0,
        "restarts": 2,
        "error": {"code": "BSC-401", "message": "gone", "evidence": "exit 3", "fix": "mend it"},
        "at": 5.0,
    }
    assert row_shape(Row("work", "stdio", "ready", "", "2026-07-28", 3, 0), now=9.0)["at"] == 9.0
