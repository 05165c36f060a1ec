"""Where other programs keep their servers."""

from pathlib import Path

import pytest

from bascule.config.importing.programs import PROGRAMS, Surroundings, foreign_files, program_of

LINUX = {
    ".mcp.json": "claude-code",
    "home/.claude.json": "claude-code",
    "home/.config/Claude/claude_desktop_config.json": "claude-desktop",
    ".cursor/mcp.json": "cursor",
    "home/.cursor/mcp.json": "cursor",
    ".vscode/mcp.json": "vscode",
    "home/.config/Code/User/mcp.json": "vscode",
    "home/.config/Code/User/profiles/-7f3a/mcp.json": "vscode",
    "home/.config/Code - Insiders/User/mcp.json": "vscode",
    ".gemini/settings.json": "gemini",
    "home/.gemini/settings.json": "gemini",
    ".codex/config.toml": "codex",
    "home/.codex/config.toml": "codex",
    "home/.codeium/windsurf/mcp_config.json": "windsurf",
    ".zed/settings.json": "zed",
    "home/.config/zed/settings.json": "zed",
    "home/.copilot/mcp-config.json": "copilot",
    "home/.kiro/settings/mcp.json": "kiro",
    ".roo/mcp.json": "roo",
    "home/.lmstudio/mcp.json": "lm-studio",
}

MAC = {
    "home/Library/Application Support/Claude/claude_desktop_config.json": "claude-desktop",
    "home/Library/Application Support/Code/User/mcp.json": "vscode",
    "home/.config/zed/settings.json": "zed",
}

WINDOWS = {
    "home/AppData/Roaming/Claude/claude_desktop_config.json": "claude-desktop",
    "home/AppData/Roaming/Code/User/mcp.json": "vscode",
    "home/AppData/Roaming/Zed/settings.json": "zed",
    "home/.cursor/mcp.json": "cursor",
}


def around(folder: Path, platform: str = "linux", **environ: str) -> Surroundings:
    return Surroundings(platform, folder / "home", folder, environ)


def lay(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("{}")


@pytest.mark.parametrize(("platform", "files"), [("linux", LINUX), ("darwin", MAC), ("win32", WINDOWS)])
def test_every_file_is_found_where_its_program_keeps_it(tmp_path: Path, platform: str, files: dict[str, str]):
    lay(tmp_path, *files)
    found = {
        file.path.relative_to(tmp_path).as_posix(): file.program.name
        for file in foreign_files(around(tmp_path, platform))
    }

    assert found == files


def test_a_folder_that_a_variable_names_takes_the_place_of_the_usual_one(tmp_path: Path):
    lay(tmp_path, "a/.claude.json", "b/config.toml", "c/mcp-config.json", "d/zed/settings.json", "e/Claude/x")
    named = {"CLAUDE_CONFIG_DIR": "a", "CODEX_HOME": "b", "COPILOT_HOME": "c", "XDG_CONFIG_HOME": "d"}
    found = foreign_files(around(tmp_path, **{name: str(tmp_path / folder) for name, folder in named.items()}))

    assert [file.program.name for file in found] == ["claude-code", "codex", "zed", "copilot"]


def test_a_variable_that_names_no_whole_path_is_passed_over(tmp_path: Path):
    lay(tmp_path, "home/.codex/config.toml")

    assert [file.program.name for file in foreign_files(around(tmp_path, CODEX_HOME="elsewhere"))] == ["codex"]


def test_a_file_of_the_folder_and_of_the_user_at_once_is_found_once(tmp_path: Path):
    lay(tmp_path, ".cursor/mcp.json")
    found = foreign_files(Surroundings("linux", tmp_path, tmp_path, {}))

    assert [file.path for file in found] == [tmp_path / ".cursor/mcp.json"]


def test_a_folder_of_such_a_name_is_no_file(tmp_path: Path):
    (tmp_path / ".mcp.json").mkdir()

    assert foreign_files(around(tmp_path)) == []


@pytest.mark.parametrize("file", [*LINUX, *MAC])
def test_whose_a_file_is_shows_in_its_name(file: str):
    assert program_of(Path("/somewhere") / file).name == (LINUX | MAC)[file]


@pytest.mark.parametrize(
    ("file", "name"), [("/a/servers.json", "servers"), ("/a/settings.json", "settings"), ("/.x", "x")]
)
def test_a_file_that_is_nobodys_is_named_after_itself(file: str, name: str):
    program = program_of(Path(file))

    assert (program.name, program.title, program.files) == (name, Path(file).name, ())


def test_programs_have_names_that_can_stand_behind_a_servers():
    assert all(program.name.replace("-", "").isalpha() for program in PROGRAMS)
