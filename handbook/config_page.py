"""Reference page of the config, generated from the table of its keys: each with its meaning, kind, default and an
example."""

from collections.abc import Mapping
from typing import Any, cast

from bascule.config.loading.key_table import SERVER_KEYS, TOP_KEYS, Key, Kind
from handbook.config_examples import GROUPS, Group

HEAD = """# Config

<!-- Made by `python -m handbook write` from src/bascule/config/loading/key_table.py. -->

Every key of `bascule.yaml`. What is not written has its default; what is unknown is an error that names the nearest key. In files of other programs (`.mcp.json`,
`.vscode/mcp.json`, …) the same keys stand under `x-bascule`, beside the servers and in each of them.

- Times are seconds. Sizes are bytes, or `8MiB`.
- `${NAME}` is the value of a variable of the environment, `${NAME:-word}` the word where it is not set. A variable that is not set is an error.
- Patterns are those of file names: `read_*`.

Editors that know JSON Schema complete and check it with [bascule.schema.json](../bascule.schema.json): `# yaml-language-server: $schema=PATH` as its first line.
"""


def config_page() -> str:
    return HEAD + "".join(_section(group) for group in GROUPS if _available(group))


def ungrouped() -> set[str]:
    """Keys that no part of the page has. There are none."""
    there = {name for name, key in {**SERVER_KEYS, **TOP_KEYS}.items() if key.available}
    return there - {name for group in GROUPS for name in names_of(group)}


def names_of(group: Group) -> list[str]:
    """The keys of a group: those it names, and those inside them."""
    keys = _keys(group)
    return [name for name in keys if any(name == word or name.startswith(f"{word}.") for word in group.keys)]


def _keys(group: Group) -> Mapping[str, Key]:
    return SERVER_KEYS if group.server else TOP_KEYS


def _available(group: Group) -> bool:
    return all(_keys(group)[name].available for name in names_of(group))


def _section(group: Group) -> str:
    rows = [_row(_keys(group)[name]) for name in names_of(group)]
    table = "\n".join(["| key | meaning | kind | default |", "|---|---|---|---|", *rows])
    return f"\n## {group.title}\n\n{group.words}\n\n{table}\n\n```yaml\n{group.example.strip()}\n```\n"


def _row(key: Key) -> str:
    return f"| `{key.name}` | {key.meaning.replace('|', chr(92) + '|')} | {_kind(key)} | {_default(key)} |"


def _kind(key: Key) -> str:
    return " or ".join(f"`{choice}`" for choice in key.choices) if key.kind is Kind.CHOICE else key.kind.value


def _default(key: Key) -> str:
    shown = _shown(key.default, size=key.kind is Kind.SIZE)
    return f"`{shown}`" if shown else "—"


def _shown(value: Any, *, size: bool) -> str:
    """As it would be written in the file; nothing where nothing is the default."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() if size:
            return next((f"{value // of}{unit}" for unit, of in _UNITS if value % of == 0), str(value))
        case tuple():
            return f"[{', '.join(map(str, cast('tuple[object, ...]', value)))}]"
        case _:
            return str(value)


_UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
