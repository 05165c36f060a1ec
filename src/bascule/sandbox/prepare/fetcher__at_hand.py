"""Programs that a fetching command would find without fetching."""

from pathlib import Path

from bascule.sandbox.prepare.package import Package
from bascule.sandbox.process.child import Command

LOOK_AROUND = ("npx", "npm", "bunx", "bun")
"""Commands that take a program of the project before they fetch one."""


def at_hand(package: Package, command: Command) -> bool:
    """Whether npx finds what it is asked for in the project that it is started in. It then runs that, and so do we."""
    if package.runner not in LOOK_AROUND or package.binary is not None or command.cwd is None:
        return False
    name = package.specs[0]
    folder = Path(command.cwd).absolute()
    programs = (above / "node_modules/.bin" / name for above in (folder, *folder.parents))
    # A name with a scope or a version is no program's.
    return "/" not in name and "@" not in name and any(program.is_file() for program in programs)
