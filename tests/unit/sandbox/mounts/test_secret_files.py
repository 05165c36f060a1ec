"""Names of files with credentials."""

import pytest

from bascule.config.importing.programs import PROGRAMS
from bascule.config.locate import CANDIDATES
from bascule.sandbox.mounts.secret_files import is_secret_file


@pytest.mark.parametrize(
    "path",
    [
        *("p/.env", "p/.env.local", "p/.env.production", "p/.envrc", "p/.env~", "p/.env.a\nb"),
        *("p/bascule.yaml", "p/bascule.yml", "p/.mcp.json", "p/mcp.json", "p/.claude.json"),
        *("p/claude_desktop_config.json", "p/mcp_config.json", "p/mcp-config.json", "p/cline_mcp_settings.json"),
        *(".gemini/settings.json", ".zed/settings.json", ".codex/config.toml"),
        *("p/bascule.yaml~", "p/bascule.yaml.bak", "p/.bascule.yaml.swp", "p/.bascule.yaml.0123456789abcdef"),
    ],
)
def test_files_with_credentials_are_known_by_their_names(path: str):
    folder, _, name = path.partition("/")
    assert is_secret_file(name, folder)


@pytest.mark.parametrize(
    "path",
    [
        *("p/.env.example", "p/.env.sample", "p/.env.template", "p/bascule.yaml.example", "p/env", "p/.environment"),
        *("p/settings.json", ".vscode/settings.json", "p/config.toml", "p/package.json", "p/bascule.yaml.py"),
        *("p/bascule.lock", "p/amcp.json", "p/mcp.json.d"),
    ],
)
def test_other_files_are_not(path: str):
    folder, _, name = path.partition("/")
    assert not is_secret_file(name, folder)


def test_the_config_of_every_client_that_can_be_imported_is_known():
    files = [file for program in PROGRAMS for file in program.files]
    for file in (*files, *(f"p/{candidate}" for candidate in CANDIDATES)):
        *_, folder, name = file.replace("{", "").replace("}", "").split("/")
        assert is_secret_file(name, folder), file
