"""What was found out about a log."""

from bascule.records.audit.damage import AuditCheck, Damage, WriterCheck
from bascule.store.audit.anchors import Anchor

HEAD, PROVEN = Anchor("w", 9, "ab", 2.0), Anchor("w", 6, "cd", 1.0)
DAMAGE = Damage("altered", "record 7 is not as it was written", "0001.log", 7, 7)


def test_records_after_the_last_anchor_are_counted():
    assert WriterCheck("w", ("0001.log",), 9, HEAD, PROVEN, "store").after == 3
    assert WriterCheck("w", ("0001.log",), 9, HEAD, None).after == 9
    assert WriterCheck("w", (), 0, None, None).after == 0


def test_a_log_is_in_order_if_nothing_is_wrong_anywhere():
    good = WriterCheck("w", (), 9, HEAD, PROVEN)
    bad = WriterCheck("w", (), 9, HEAD, PROVEN, damage=(DAMAGE,), damages=1)

    assert AuditCheck(()).ok
    assert AuditCheck((good,)).ok
    assert not AuditCheck((good, bad)).ok
    assert not AuditCheck((good,), (DAMAGE,)).ok
