"""Mounts that a script needs: its project, and the `node_modules` folders above it."""

from pathlib import Path

from bascule.files.regular_file import read_regular
from bascule.sandbox.mounts.path_checks import is_file, is_folder, is_there
from bascule.sandbox.mounts.visible_paths import View

WHY = "program"

MARKS = ("package.json", "pyproject.toml", "node_modules", "setup.py", "deno.json", "Gemfile", ".git")
"""What lies in the uppermost folder of a project."""

CODE = frozenset({
    *(".py", ".pyz", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".rb", ".sh", ".pl", ".php"),
    *(".jar", ".dll"),
})  # fmt: skip

PACKAGES = "node_modules"


def is_script(path: str) -> bool:
    """Whether a file is read by something that interprets it."""
    if Path(path).suffix in CODE:
        return True
    try:
        return read_regular(path, 2) == b"#!"
    except OSError:
        return False


def show_project(view: View, script: str) -> None:
    """A script by its real path, with the project it is of; else its folder; else itself alone."""
    root = project_of(script)
    folder = str(Path(script).parent)
    if not (root and view.tree(root, WHY)) and not view.tree(folder, WHY):
        view.file(script, WHY)
    # Node looks for packages in every folder above.
    for above in Path(script).parents:
        if is_folder(above / PACKAGES):
            view.tree(str(above / PACKAGES), WHY)


def project_of(script: str) -> str | None:
    """The folder of the project that a file is of."""
    path = Path(script)
    if PACKAGES in path.parts:
        # A package that was installed: those it needs lie beside it.
        return str(Path(*path.parts[: path.parts.index(PACKAGES) + 1]))
    nearest = next((folder for folder in path.parents if any(is_there(folder / mark) for mark in MARKS)), None)
    if nearest is None:
        return None
    around = next((folder for folder in nearest.parents if _holds_projects(folder)), nearest)
    return str(around)


MAX_FILE = 4 * 1024 * 1024
"""Largest `package.json` read, in bytes."""


def _holds_projects(folder: Path) -> bool:
    """Whether a folder holds several projects that use each other."""
    if is_file(folder / "pnpm-workspace.yaml"):
        return True
    try:
        return b'"workspaces"' in read_regular(folder / "package.json", MAX_FILE)
    except OSError:
        return False
