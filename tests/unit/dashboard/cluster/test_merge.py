"""What several workers tell, made one."""

from msgspec.structs import replace

from bascule.dashboard.cluster.merge import (
    drift_of,
    newest_first,
    server_detail_of,
    server_of,
    session_detail_of,
    session_of,
    timeline_of,
    tool_of,
)
from bascule.dashboard.views.shapes import (
    CallRow,
    Drift,
    ErrorView,
    LinkCount,
    LogLineView,
    ServerDetail,
    ServerRow,
    SessionDetail,
    SessionRow,
    Timeline,
    ToolRow,
)
from bascule.records.feed.stats import Tally

SERVER = ServerRow("notes", "stdio", "ready", "", "", 2, 0, (), 0, None, "", "", False, None)
SESSION = SessionRow("id", "alice", "s-1", "public", "open", "", True, False, 1, 0, 0, 0, 5.0)
DETAIL = SessionDetail(SESSION, (), (), {}, (), 3)


def call(at: float, id_: str) -> CallRow:
    return CallRow(id_, at, 0.1, "id", "alice", "s-1", "x", "notes", "tools/call", "open", "ok", "", "", ())


def tool(*seconds: float) -> ToolRow:
    tally = Tally()
    for each in seconds:
        tally.add("ok", each, each, failed=False)
    shares = (tally.percentile(0.5), tally.percentile(0.9), tally.percentile(0.99))
    buckets = {index: count for index, count in enumerate(tally.buckets) if count}
    return ToolRow("notes_x", "notes", tally.calls, 0, *shares, dict(tally.kinds), tally.last, buckets)


def test_a_server_is_as_good_as_anywhere_and_its_links_are_all_counted():
    failed = replace(SERVER, state="failed", restarts=3, error=ErrorView("BSC-1", "gone", at=7.0))
    one = replace(SERVER, links=(LinkCount("open", "ready", 1),), restarts=1)
    two = replace(failed, links=(LinkCount("open", "ready", 2), LinkCount("sealed", "failed", 1)))
    made = server_of([two, one])
    assert (made.state, made.restarts, made.error is not None) == ("ready", 4, True)
    assert made.links == (LinkCount("open", "ready", 3), LinkCount("sealed", "failed", 1))


def test_an_agent_session_is_as_private_as_anybody_who_knows_says():
    secret = replace(SESSION, level="secret", lane="sealed", calls=2, last=4.0)
    assert (session_of([SESSION, secret]).level, session_of([SESSION, secret]).calls) == ("secret", 3)
    unread = replace(secret, known=False)
    assert session_of([unread, SESSION]).level == "public"
    assert session_of([unread]).level == "secret"


def test_an_agent_session_is_told_by_the_worker_that_has_it():
    kept = replace(DETAIL, served=0, here=False, row=replace(SESSION, calls=4, last=9.0))
    made = session_detail_of([kept, DETAIL])
    assert (made.served, made.here, made.row.calls) == (3, True, 5)


def test_calls_come_newest_first_and_never_twice_on_two_pages():
    one, two = (call(1.0, "a-1"), call(2.0, "a-2")), (call(2.0, "b-9"), call(2.0, "b-10"))
    assert [each.id for each in newest_first((*one, *two))] == ["b-10", "b-9", "a-2", "a-1"]
    made = timeline_of([Timeline(one, 1), Timeline(two, 5)], 3)
    assert ([each.id for each in made.calls], made.more) == (["b-10", "b-9", "a-2"], 7)


def test_percentiles_are_those_of_all_calls_together():
    quick, slow = [0.001] * 90, [1.0] * 10
    whole, parts = tool(*quick, *slow), tool_of([tool(*quick), tool(*slow)])
    assert (parts.p50, parts.p90, parts.p99, parts.calls) == (whole.p50, whole.p90, whole.p99, 100)


def test_what_is_to_be_approved_is_there_once():
    one = Drift("notes", "x", "changed", "d1", (), "", "", ())
    assert drift_of([one, one, replace(one, digest="d2")]) == (one, replace(one, digest="d2"))


def test_a_line_that_all_read_in_one_file_was_said_once():
    line, other = LogLineView(1.0, "stderr", "", "", "", "a"), LogLineView(2.0, "stderr", "", "", "", "b")
    one = ServerDetail(SERVER, (), (), (), (line, line), ())
    made = server_detail_of([one, replace(one, log=(line, other))], 10)
    assert made.log == (line, line, other)
