"""The rules, one by one."""

from typing import Any

import pytest

from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.core.tool import ToolKey, ToolStatus
from bascule.policy.exposure import Exposure
from bascule.policy.facts import Facts
from bascule.policy.rules import RULES, lane_is_open, tool_is_exposed, tool_is_usable


def facts(**changes: Any) -> Facts:
    known: dict[str, Any] = {
        "key": ToolKey("files", "read"),
        "name": "files_read",
        "principal": Principal("alice", "s-1"),
        "status": ToolStatus.EXPOSED,
        "exposure": Exposure.of(None),
        "level": DataSensitivity.PUBLIC,
        "lane": Lane.OPEN,
    }
    return Facts(**known | changes)


@pytest.mark.parametrize("rule", RULES)
def test_an_ordinary_call_offends_no_rule(rule: Any):
    assert rule(facts()) is None


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (tool_is_exposed, {"status": ToolStatus.HIDDEN}),
        (tool_is_usable, {"status": ToolStatus.UNUSABLE}),
        (lane_is_open, {"level": DataSensitivity.SECRET}),
    ],
)
def test_a_refusal_carries_its_rules_own_name_and_a_way_out(rule: Any, broken: dict[str, Any]):
    refusal = rule(facts(**broken))

    assert refusal.rule == rule.__name__
    assert refusal.message
    assert refusal.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"status": ToolStatus.HIDDEN},
        {"exposure": Exposure.of([])},
        {"exposure": Exposure.of(None, ["read"])},
        {"exposure": Exposure.of("unreadable")},
    ],
    ids=["hidden", "not allowed", "blocked", "unreadable"],
)
def test_a_tool_that_is_not_exposed_is_refused_in_secret(changes: dict[str, Any]):
    refusal = tool_is_exposed(facts(**changes))

    assert refusal is not None
    assert not refusal.reveals


def test_exposure_is_asked_by_the_servers_own_name():
    assert tool_is_exposed(facts(exposure=Exposure.of(["read"]))) is None
    assert tool_is_exposed(facts(exposure=Exposure.of(["files_read"]))) is not None


@pytest.mark.parametrize("status", [status for status in ToolStatus if status is not ToolStatus.EXPOSED])
def test_a_tool_of_any_other_status_cannot_be_used(status: ToolStatus):
    refusal = tool_is_usable(facts(status=status, problem="it changed"))

    assert refusal is not None
    assert str(status) in refusal.message
    assert "it changed" in refusal.message


@pytest.mark.parametrize("level", [DataSensitivity.PUBLIC, DataSensitivity.INTERNAL])
def test_the_open_lane_serves_what_may_be_known(level: DataSensitivity):
    assert lane_is_open(facts(level=level)) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"level": DataSensitivity.CONFIDENTIAL, "lane": Lane.PROXIED},
        {"level": DataSensitivity.SECRET, "lane": Lane.SEALED},
        {"level": DataSensitivity.SECRET},
        {"lane": Lane.PROXIED},
        {"lane": Lane.SEALED},
    ],
    ids=str,
)
def test_private_data_closes_the_open_lane_and_the_caller_is_told(changes: dict[str, Any]):
    refusal = lane_is_open(facts(**changes))

    assert refusal is not None
    assert refusal.reveals


def test_whether_a_tool_may_be_known_of_is_asked_first():
    assert RULES[0] is tool_is_exposed
