"""What waits for approval."""

from pathlib import Path

from bascule.catalog.pinning.lock import Approved, Lock
from bascule.cli.doctor.levels import lock_checks, waits
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus

CHANGED = ToolSpec("work_act", ToolKey("work", "act"), "d", status=ToolStatus.QUARANTINED, problem="its title; remedy")
NEW = ToolSpec("work_new", ToolKey("work", "new"), "d", status=ToolStatus.QUARANTINED, problem="it is new; remedy")
LOCK = Lock({"work": {"act": Approved("other", {})}})


def test_what_changed_is_told_from_what_is_new():
    _, changed, new = lock_checks(RuntimeConfig({}, path=Path("bascule.yaml")), LOCK, (CHANGED, NEW))

    assert changed.message == "1 tool is changed since approved, and kept from agents"
    assert changed.evidence == "work_act: its title"
    assert new.message == "1 tool is new since approved, and kept from agents"
    assert "`bascule approve work`" in new.fix


def test_only_what_a_lock_covers_waits_for_it():
    assert waits(CHANGED, LOCK)
    assert not waits(CHANGED, Lock({"other": {}}))
