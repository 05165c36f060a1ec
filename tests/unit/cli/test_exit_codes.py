"""Exit codes by kind of failure."""

import pytest

from bascule.cli import exit_codes
from bascule.core.errors import (
    BasculeError,
    ConfigError,
    ConnectFailed,
    LoginNeeded,
    Refused,
    SandboxError,
    UnknownTool,
    UsageError,
)
from bascule.core.outcome import FailureKind


def test_every_kind_of_failure_has_an_exit_code_other_than_0():
    assert set(exit_codes.BY_KIND) == set(FailureKind)
    assert 0 not in exit_codes.BY_KIND.values()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("x"), 2),
        (UsageError("x"), 2),
        (UnknownTool("x"), 2),
        (ConnectFailed("x"), 3),
        (LoginNeeded("x"), 3),
        (Refused("x", rule="r"), 4),
        (SandboxError("x"), 1),
    ],
)
def test_an_error_that_ends_the_command_has_the_code_of_its_family(error: BasculeError, code: int):
    assert exit_codes.of_error(error) == code
