"""Credentials added to the `.env` file beside a config; variables that are set there stay. Separate from `bascule
import`: the quoting must match the reader in `config/variables.py`."""

from collections.abc import Mapping
from pathlib import Path

from bascule.config.editing.add_server import Addition
from bascule.config.loading.document import read_text
from bascule.config.variables import read_dotenv


def dotenv_with(path: Path, values: Mapping[str, str]) -> Addition:
    before = read_text(path) if path.exists() else None
    there, _ = read_dotenv(path)
    lines = "".join(f"{name}={quoted(value)}\n" for name, value in values.items() if name not in there)
    start = before or ""
    start += "\n" if start and not start.endswith("\n") else ""
    return Addition(path, before, start + lines, "", replaced=False, mode=0o600)


def quoted(value: str) -> str:
    """As it is read again: in single quotes nothing is an escape."""
    if "'" not in value and "\n" not in value and "\r" not in value:
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
