"""The clock of the audit log."""

from pathlib import Path

from bascule.cli.audit_checks import audit_check


def test_an_empty_log_is_in_order(tmp_path: Path):
    assert audit_check(tmp_path, 0.0).message == "nothing is logged yet"
