"""Where state is kept."""

from pathlib import Path

import pytest

from bascule.cli.doctor.storage import kept_checks
from bascule.config.model.runtime_config import RuntimeConfig


async def test_a_file_is_told_by_its_folder(tmp_path: Path):
    first, *rest = await kept_checks(RuntimeConfig({}), {"BASCULE_HOME": str(tmp_path)})

    assert (first.subject, first.message) == ("state", f"kept in {tmp_path}")
    assert [check.subject for check in rest] == ["levels", "runtimes"]


@pytest.mark.long
async def test_a_database_is_told_with_its_version(tmp_path: Path, database: str):
    first, *_ = await kept_checks(RuntimeConfig({}, store=database), {"BASCULE_HOME": str(tmp_path)})

    assert "(PostgreSQL " in first.message
