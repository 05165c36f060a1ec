"""What is to run in a container."""

from bascule.sandbox.spec.engine import Run


def test_what_is_run_does_not_show_its_environment_by_accident() -> None:
    assert "hunter2" not in repr(Run("box", ("server",), {"TOKEN": "hunter2"}))
