"""What importing a module says in an environment that lacks a package."""

import subprocess
import sys

CODE = """
import importlib, sys

class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Lacking())
importlib.import_module({module!r})
"""


def last_line_without(package: str, module: str) -> str:
    """The line that a person reads first."""
    code = CODE.format(package=package, module=module)
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    return ran.stderr.splitlines()[-1]
