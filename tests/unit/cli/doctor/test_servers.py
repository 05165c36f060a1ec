"""What is told of servers and their tools."""

from bascule.cli.doctor.check import Insight
from bascule.cli.doctor.servers import collision_checks, server_checks
from bascule.core.errors import ConnectFailed
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.state import LinkState


def test_a_failure_is_told_with_what_else_is_known():
    report = ServerReport("a", "stdio", LinkState.FAILED, error=ConnectFailed("it exited", evidence="boom", fix="look"))
    known = [Insight("Node is old", "v12", "install"), Insight(evidence="more")]
    (check,) = server_checks(report, (), known)

    assert (check.message, check.evidence) == ("BSC-401 it exited: Node is old", "boom\nv12\nmore")
    assert check.fix == "install"


def test_tools_with_one_name_are_told_of_together():
    specs = [ToolSpec("x", ToolKey(server, "x"), "d", status=ToolStatus.COLLIDING) for server in ("a", "b")]
    (check,) = collision_checks(specs)

    assert check.evidence == "a/x\nb/x"
    assert "`prefix: b`" in check.fix
