"""The operator's word on each tool."""

from typing import Any

from bascule.catalog.digest import tool_digest
from bascule.catalog.judgement import Judgement
from bascule.catalog.pinning.lock import Lock
from bascule.config import ServerConfig, StdioTransport
from bascule.core.permission import UNDECLARED, Permission
from bascule.policy.exposure import Exposure
from bascule.runtime.servers.listings import judge_of
from support.locks import RICH, approved

READ = frozenset({Permission.READ})
LOCKED = Lock({"work": approved(RICH)})


def judged(lock: Lock, definition: dict[str, Any], **config: Any) -> Judgement:
    server = ServerConfig("work", StdioTransport("x"), **config)
    exposure = Exposure.of(server.allow, server.block)
    return judge_of(server, exposure, lock)(definition, tool_digest(definition))


def test_exposure_permissions_and_approval_are_judged_together():
    assert judged(Lock(), RICH) == Judgement(True, UNDECLARED, "")
    assert judged(Lock(), RICH, block=["act"]).exposed is False
    assert judged(LOCKED, RICH).unapproved == ""
    assert "title changed" in judged(LOCKED, {**RICH, "title": "Other"}).unapproved


def test_a_pattern_vouches_for_a_tool_only_as_it_was_approved():
    word = {"a*": "read"}
    assert judged(Lock(), RICH, permissions=word).permissions == UNDECLARED
    assert judged(LOCKED, RICH, permissions=word).permissions == READ
    assert judged(LOCKED, {**RICH, "title": "Other"}, permissions=word).permissions == UNDECLARED


def test_a_trusted_server_tightens():
    hints = {**RICH, "annotations": {"readOnlyHint": True}}
    assert judged(Lock(), hints, permissions={"act": "read"}).permissions == READ
    tightened = judged(Lock(), hints, permissions={"act": "read"}, trust=["annotations"]).permissions
    assert tightened == READ | {Permission.CONNECT}
