"""What a decision looks at."""

import pytest

from bascule.core.permission import UNDECLARED
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.exposure import Exposure
from bascule.policy.facts import Facts


def test_facts_cannot_be_changed_and_assume_the_worst_of_a_tool():
    facts = Facts(
        key=ToolKey("files", "read"),
        name="files_read",
        principal=Principal("alice", "s-1"),
        status=ToolStatus.EXPOSED,
        exposure=Exposure.of(None),
        level=DataSensitivity.PUBLIC,
        lane=Lane.OPEN,
        now=0.0,
    )

    assert facts.permissions == UNDECLARED
    with pytest.raises(AttributeError):
        facts.level = DataSensitivity.PUBLIC  # pyright: ignore[reportAttributeAccessIssue]
