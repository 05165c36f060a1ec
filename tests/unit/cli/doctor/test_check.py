"""Results of health checks."""

from bascule.cli.doctor.check import Check, failed
from bascule.core.errors import ConnectFailed


def test_an_error_is_told_with_its_code_evidence_cause_and_fix():
    error = ConnectFailed("it exited", evidence="boom", cause="no disk", fix="mend it")

    assert failed("server x", error) == Check("server x", "fail", "BSC-401 it exited (no disk)", "boom", "mend it")
    assert failed("server x", ConnectFailed("it exited"), "warn") == Check("server x", "warn", "BSC-401 it exited")
