"""What servers list and say, as it may be shown."""

from bascule.catalog.approval import Proposal
from bascule.catalog.pinning.lock import Approved
from bascule.core.tool import ToolKey
from bascule.dashboard.views.servers import LONGEST_DEFINITION, drift_view, listed_tools, log_view
from bascule.records.server_logs.file import LogLine


def test_what_hides_in_a_definition_is_written_out_and_a_long_one_is_cut():
    after = Approved("d", {"name": "act", "description": "a\u200bb" + "x" * LONGEST_DEFINITION})
    view = drift_view(Proposal(ToolKey("work", "act"), None, after))
    assert (view.change, view.digest, view.before) == ("new", "d", "")
    assert "\u200b" not in view.after + "".join(view.diff)
    assert "more characters are not shown" in view.after
    gone = drift_view(Proposal(ToolKey("work", "act"), after, None))
    assert (gone.change, gone.digest, gone.after) == ("removed", "", "")


def test_a_line_is_masked_escaped_and_cut():
    line = LogLine(1.0, "stderr", "alice", "s-1", "key \x1b[2J" + "x" * 9000)
    view = log_view(line, lambda text: text.replace("key", "***"))
    assert view.text.startswith("*** \\x1b[2J")
    assert len(view.text) < 3000


def test_a_server_that_has_listed_nothing_has_no_tools():
    assert listed_tools(None) == ()
