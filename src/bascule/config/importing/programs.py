"""Config file locations of other MCP clients on this platform. Lists paths and opens no file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The machine as a program of its user sees it."""

    platform: str
    """As `sys.platform` has it."""
    home: Path
    here: Path
    """The folder whose own files count too."""
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Program:
    """A program whose servers can be taken over."""

    name: str
    title: str
    files: tuple[str, ...]
    """Those of a folder before those of the user. A word in braces is a folder; a `*` stands for any."""


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """One file in which a program keeps servers, or may."""

    program: Program
    path: Path


_STORED = "{app}/Code/User/globalStorage"
"""Where extensions of VS Code keep what is theirs."""

PROGRAMS = (
    Program("claude-code", "Claude Code", ("{here}/.mcp.json", "{claude}/.claude.json")),
    Program("claude-desktop", "Claude Desktop", ("{app}/Claude/claude_desktop_config.json",)),
    Program("cursor", "Cursor", ("{here}/.cursor/mcp.json", "{home}/.cursor/mcp.json")),
    Program(
        "vscode",
        "VS Code",
        (
            "{here}/.vscode/mcp.json",
            "{app}/Code/User/mcp.json",
            "{app}/Code/User/profiles/*/mcp.json",
            "{app}/Code - Insiders/User/mcp.json",
        ),
    ),
    Program("gemini", "Gemini CLI", ("{here}/.gemini/settings.json", "{home}/.gemini/settings.json")),
    Program("codex", "Codex", ("{here}/.codex/config.toml", "{codex}/config.toml")),
    Program("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",)),
    Program("zed", "Zed", ("{here}/.zed/settings.json", "{zed}/settings.json")),
    Program("copilot", "Copilot CLI", ("{copilot}/mcp-config.json",)),
    Program("kiro", "Kiro", ("{here}/.kiro/settings/mcp.json", "{home}/.kiro/settings/mcp.json")),
    Program("cline", "Cline", (f"{_STORED}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",)),
    Program(
        "roo",
        "Roo Code",
        ("{here}/.roo/mcp.json", f"{_STORED}/rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
    ),
    Program("lm-studio", "LM Studio", ("{home}/.lmstudio/mcp.json",)),
)
"""In the order in which they are looked at: of two servers with one name, the first keeps it."""

TITLES = {program.name: program.title for program in PROGRAMS}


def foreign_files(around: Surroundings, programs: tuple[Program, ...] = PROGRAMS) -> list[ForeignFile]:
    """The files that are there, each once."""
    found: dict[Path, ForeignFile] = {}
    for program in programs:
        for path in (path for file in program.files for path in _paths(file, around)):
            found.setdefault(path.absolute(), ForeignFile(program, path))
    return [file for file in found.values() if _is_there(file.path)]


def program_of(path: Path) -> Program:
    """Whose file this is, by how such files are called; where nobody's is called so, one named after the file."""
    for program in PROGRAMS:
        if any(_fits(path.absolute(), file) for file in program.files):
            return program
    return Program(path.stem.lstrip(".").lower() or "file", path.name, ())


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # A folder that may not be looked into. That the file cannot be read is told when it is tried.
        return True


def _fits(path: Path, file: str) -> bool:
    known = file.replace("{zed}", "./zed").split("/")[1:]
    # A `settings.json` may be anybody's; the folder that it lies in says whose.
    named = known[-2:] if known[-1] in {"mcp.json", "settings.json"} else known[-1:]
    return path.match("/".join(known[-3:] if "*" in named else named))


def _paths(file: str, around: Surroundings) -> Iterator[Path]:
    word, *rest = PurePosixPath(file).parts
    folder = _folders(around)[word.strip("{}")]
    if "*" not in file:
        yield folder.joinpath(*rest)
        return
    try:
        yield from sorted(folder.glob("/".join(rest)))
    except OSError:
        return


def _folders(around: Surroundings) -> dict[str, Path]:
    home, environ = around.home, around.environ

    def named(variable: str, otherwise: Path) -> Path:
        value = environ.get(variable, "")
        return Path(value) if value and Path(value).is_absolute() else otherwise

    if around.platform == "win32":
        app = named("APPDATA", home / "AppData" / "Roaming")
        zed = app / "Zed"
    else:
        config = named("XDG_CONFIG_HOME", home / ".config")
        app = home / "Library" / "Application Support" if around.platform == "darwin" else config
        zed = (home / ".config" if around.platform == "darwin" else config) / "zed"
    return {
        "home": home,
        "here": around.here,
        "app": app,
        "zed": zed,
        "claude": named("CLAUDE_CONFIG_DIR", home),
        "codex": named("CODEX_HOME", home / ".codex"),
        "copilot": named("COPILOT_HOME", home / ".copilot"),
    }
