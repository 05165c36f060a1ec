"""Findings."""

import msgspec
import pytest

from bascule.core.finding import Finding, FindingKind, Severity


def test_a_finding_says_what_it_is_where_and_by_what_it_is_known():
    finding = Finding(FindingKind.BIDI, "description", "U+202E")

    assert str(finding) == "bidi in description: U+202E"
    assert finding.severity is Severity.DANGER


def test_a_finding_is_never_changed():
    with pytest.raises(AttributeError):
        Finding(FindingKind.BIDI, "name", "x").where = "title"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_finding_is_plain_data_for_programs():
    told = msgspec.to_builtins(Finding(FindingKind.BLOB, "title", "x", Severity.CAUTION))

    assert told == {"kind": "blob", "where": "title", "evidence": "x", "severity": "caution"}
