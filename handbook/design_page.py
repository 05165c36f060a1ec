"""Design page: the table of packages in docs/design.md is made from the docstrings of the packages."""

import ast
import re
from collections.abc import Iterator

from handbook.navigation import DOCS, ROOT

SOURCE = ROOT / "src/bascule"
TABLE = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- end of packages -->)", re.DOTALL)


def packages() -> Iterator[tuple[str, str]]:
    """Path and docstring of each package that holds modules, a package before those inside it."""
    for path in sorted(SOURCE.rglob("__init__.py")):
        name = path.parent.relative_to(SOURCE).as_posix()
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if name != ".":
            yield name, " ".join(docstring.split())


def design_page() -> str:
    rows = [f"| `{name}` | {docstring} |\n" for name, docstring in packages()]
    table = "".join(["| package | holds |\n|---|---|\n", *rows])
    return TABLE.sub(lambda _: table, (DOCS / "design.md").read_text(encoding="utf-8"))
