from typing import Any

import pytest

from bascule.core.events import LevelChanged, ToolsQuarantined
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.records.telemetry import counters as module
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.labels import UNKNOWN, ClientLabels, ServerLabels, SessionLabels
from support.telling import ALICE, asked, called, failure, link


def heard(*events: Any) -> Counts:
    counts = Counts()
    for event in events:
        counts.note(event)
    return counts


def test_a_call_is_counted_by_what_bounds_it():
    counts = heard(called(), called(seconds=2.0))
    labels = ClientLabels("tools/call", "work_act", "", "", "2026-07-28", "pipe", "work", "open")
    assert [*counts.client.series] == [labels]
    assert counts.client.series[labels].total == 2.5
    assert not counts.errors


def test_a_name_that_nobody_lists_is_not_repeated():
    unknown = failure(FailureKind.UNKNOWN_TOOL, "BSC-201")
    counts = heard(*(called(unknown, tool=f"made_up_{n}", server="", span=None) for n in range(9)))
    assert [labels.tool for labels in counts.client.series] == [UNKNOWN]
    prompts = heard(*(asked("prompts/get", f"made_up_{n}", unknown, server="") for n in range(9)))
    assert [labels.prompt for labels in prompts.client.series] == [UNKNOWN]


def test_other_requests_are_counted_and_addresses_are_not_repeated():
    counts = heard(asked("prompts/get", "work_greet"), asked("resources/read", "db://hunter22"))
    assert [(labels.method, labels.prompt) for labels in counts.client.series] == [
        ("prompts/get", "work_greet"),
        ("resources/read", ""),
    ]


def test_a_failure_is_counted_by_its_kind_and_a_refusal_by_its_rule():
    counts = heard(called(failure()), called(failure(FailureKind.DENIED, "BSC-300"), rule="data_stays_in"))
    assert counts.errors == {("timeout", "work"): 1, ("denied", "work"): 1}
    assert counts.refusals == {("data_stays_in", "work"): 1}
    assert [labels.error for labels in counts.client.series] == ["timeout", "denied"]


def test_a_link_that_is_opened_again_after_it_had_failed_is_a_restart():
    first = (link("connecting"), link("ready"))
    counts = heard(*first, link("failed", code="BSC-402", lived=7.0), link("connecting"), link("ready"))
    assert counts.restarts == {("work",): 1}
    assert counts.link_failures == {("work", "BSC-402"): 1}
    assert counts.client_sessions.series[SessionLabels("BSC-402", "work", "open")].total == 7.0
    assert heard(*first, link("closed", lived=1.0), *first).restarts == {}


def test_links_that_never_come_back_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_LOST", 3)
    lost = [link("failed", principal=Principal("u", str(number))) for number in range(9)]
    back = [link("connecting", principal=Principal("u", str(number))) for number in range(9)]
    assert heard(*lost, *back).restarts == {("work",): 3}


def test_changes_of_levels_and_quarantined_tools_are_counted():
    public, secret = DataSensitivity.PUBLIC, DataSensitivity.SECRET
    change = LevelChanged(ALICE, "raise", public, secret, Cause("label"), (), {}, 1.0)
    counts = heard(change, ToolsQuarantined("work", ("a", "b"), (), 1.0), ToolsQuarantined("work", (), ("a",), 1.0))
    assert counts.raises == {("raise", "public", "secret"): 1}
    assert counts.quarantined == {("work",): 2}


def test_counts_without_end_share_what_is_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_SERIES", 2)
    counts = heard(*(called(failure(), server=f"s{n}") for n in range(5)))
    assert counts.errors == {("timeout", "s0"): 1, ("timeout", "s1"): 1, ("other", "other"): 3}


def test_what_nobody_counts_is_let_be():
    heard(object(), "x")


def test_nobody_is_named():
    counts = heard(called(), called(failure()), asked("prompts/get", "p"), link("failed"))
    counts.served(ServerLabels("tools/list"), 1.0)
    told = repr([counts.client.series, counts.errors, counts.link_failures, counts.server.series])
    assert "alice" not in told
    assert "s-1" not in told
    assert "hunter22" not in told
