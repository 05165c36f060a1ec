"""Config of `bascule serve --demo`, in a temporary folder: one server for each feature of the showcase."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bascule.demo.story.stage import PACKAGE, ground

MINUTES, SALARIES = "minutes.txt", "salaries.csv"

MORE_FILES = {
    MINUTES: "classification: internal\nThe bridge is painted in spring.\n",
    SALARIES: "classification: confidential\nname,salary\nAda Lane,1\nBen Okoro,2\n",
}

MOST_LINKS = 40
"""Agents come and go here, each with boxes of its own. Beyond these, those that are idle make room."""


@contextmanager
def showcase() -> Generator[Path]:
    """The config's file, until the end of the block. State is kept beside it."""
    with ground() as folder:
        for name, text in MORE_FILES.items():
            (folder / "files" / name).write_text(text, encoding="utf-8")
        config = folder / "bascule.yaml"
        config.write_text(yaml.safe_dump(document(folder / "files"), sort_keys=False), encoding="utf-8")
        yield config


def document(files: Path) -> dict[str, Any]:
    """The config as it is written."""
    return {
        "mcp_servers": {
            "files": {
                **_built_in("files", str(files)),
                "permissions": {"list": "read", "read": "read"},
                "trust": ["labels"],
            },
            "post": {**_built_in("post"), "permissions": {"send": ["write", "connect"]}},
            "notes": {**_built_in("notes"), "permissions": {"add": "write", "search": "read"}},
            "ledger": {**_built_in("notes"), "permissions": {"add": "write", "search": "read"}, "ask": ["add"]},
            "reports": {**_built_in("reports"), "permissions": {"make": "read"}, "timeouts": {"call": 4}},
            "clock": {**_built_in("clock"), "permissions": {"now": "read"}},
        },
        "links": {"max": MOST_LINKS},
    }


def _built_in(name: str, *args: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-m", f"bascule.demo.{name}", *args], "cwd": str(PACKAGE)}
