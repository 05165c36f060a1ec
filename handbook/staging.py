"""Staging of the pages for Zensical: a copy in which a link to a file of the repository leads to a page that shows it.
On the repository's own view such links work as they are; a stand-alone site brings the files along."""

import json
import re
import shutil
from pathlib import Path

from handbook.navigation import DOCS, ROOT, project

LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\n]*(?:\n[^\]\n]*)?)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n`]*$", re.MULTILINE)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".json": "json", ".sh": "sh"}
SHOWN = "source"
"""The folder of the site in which files of the repository are shown."""


def stage(folder: Path) -> None:
    """A whole project for Zensical, in a folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder / "docs")
    brought: set[str] = set()
    for path in sorted((folder / "docs").rglob("*.md")):
        page = str(path.relative_to(folder / "docs"))
        path.write_text(for_the_site(page, path.read_text(encoding="utf-8"), brought), encoding="utf-8")
    for file in sorted(brought):
        _show(file, folder / "docs")
    settings = {**project(), "docs_dir": "docs", "site_dir": "site"}
    # What is JSON is YAML, which Zensical reads too; it has no writer for what it reads best.
    (folder / "mkdocs.yml").write_text(json.dumps(settings, indent=2), encoding="utf-8")


def for_the_site(page: str, text: str, brought: set[str]) -> str:
    """A page with its outward links turned, which are noted, and without what its blocks say to the tests alone."""
    up = "../" * page.count("/")

    def turned(link: re.Match[str]) -> str:
        target, _, anchor = link["target"].partition("#")
        file = outward(page, target)
        if file is None:
            return link[0]
        brought.add(file)
        return f"[{link['text']}]({up}{SHOWN}/{file}.md{anchor and '#' + anchor})"

    return FENCE.sub(r"\g<indent>```\g<language>", LINK.sub(turned, text))


def outward(page: str, target: str) -> str | None:
    """The file of the repository that a link of a page leads to, where it leads out of the pages."""
    if "://" in target or not target:
        return None
    path = (DOCS / page).parent.joinpath(target).resolve()
    if path.is_relative_to(DOCS) or not path.is_relative_to(ROOT) or not path.exists():
        return None
    return str(path.relative_to(ROOT))


def _show(file: str, docs: Path) -> None:
    path = ROOT / file
    shown = docs / SHOWN / f"{file}.md"
    shown.parent.mkdir(parents=True, exist_ok=True)
    files = sorted(found for found in path.iterdir() if found.is_file()) if path.is_dir() else [path]
    blocks = [_block(found, heading=path.is_dir()) for found in files]
    shown.write_text(f"---\nsearch:\n  exclude: true\n---\n\n# `{file}`\n\n" + "\n".join(blocks), encoding="utf-8")


def _block(path: Path, *, heading: bool) -> str:
    head = f"## `{path.name}`\n\n" if heading else ""
    # A file may have fences of its own.
    return f"{head}````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"
