from pathlib import Path

import pytest

from bascule.cli.commands.explain import PLACES, known_code, page_of
from bascule.core.error_codes import CODES
from bascule.core.errors import ConfigError, UsageError


@pytest.mark.parametrize("word", ["BSC-401", "bsc-401", "BSC401", "401", "bsc_401"])
def test_a_code_is_known_however_it_is_written(word: str):
    assert known_code(word) == "BSC-401"


@pytest.mark.parametrize("word", ["BSC-999", "", "BSC-", "everything", "../../etc/passwd"])
def test_what_is_no_code_is_told_with_where_the_codes_are(word: str):
    with pytest.raises(UsageError) as raised:
        known_code(word)

    assert "bascule explain" in raised.value.fix


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_page_in_the_checkout(code: str):
    assert page_of(code, PLACES[1:]).startswith(f"# {code}: {CODES[code].title}\n")


def test_the_pages_that_were_installed_come_first(tmp_path: Path):
    (tmp_path / "BSC-401.md").write_text("installed")

    assert page_of("BSC-401", [tmp_path / "nowhere", tmp_path, *PLACES]) == "installed"


def test_pages_that_are_missing_are_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="is not where it belongs"):
        page_of("BSC-401", [tmp_path])
