"""Room, and whose a folder is."""

from pathlib import Path

from bascule.cli.doctor.storage import folder_checks
from bascule.config.model.runtime_config import RuntimeConfig


def test_a_folder_that_is_not_there_yet_is_on_the_disk_of_the_one_above(tmp_path: Path):
    config = RuntimeConfig({}, workspace_root=str(tmp_path / "a/b"))
    checks = folder_checks(config, {"BASCULE_HOME": str(tmp_path / "c/d")})

    assert [(check.subject, check.status) for check in checks] == [("disk", "ok"), ("disk", "ok")]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_read_is_a_warning(tmp_path: Path):
    tmp_path.chmod(0o755)
    first, _ = folder_checks(RuntimeConfig({}), {"BASCULE_HOME": str(tmp_path)})

    assert (first.status, first.fix) == ("warn", f"run `chmod 700 {tmp_path}`")
