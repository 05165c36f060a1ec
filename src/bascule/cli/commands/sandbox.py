"""`bascule sandbox`: lists and removes sandboxes and fetched packages, and starts the MCP server that works in a
sandbox."""

import argparse
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.json_output.running import RemovedShape
from bascule.cli.output.errors import explain, json_line, legible
from bascule.cli.output.tables import show_rows
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_deed_json, add_json
from bascule.core.errors import UsageError

if TYPE_CHECKING:
    from bascule.sandbox.inventory import ListedBox, ListedLayer

REMOVED_WITHIN = 30.0
"""Seconds to wait for whoever is fetching the same packages."""

_DEAD = "its runtime is dead: `bascule doctor --reap` removes it"
_UNPINNED = "no version is named: it stays as it was fetched"

_UNITS = ("B", "KiB", "MiB", "GiB")

_EXAMPLES = """\
  bascule sandbox ls  the boxes there are, and the packages that were fetched for servers
  bascule sandbox rm NAME  ends a box, or deletes packages: the next start fetches them again
  bascule sandbox serve  the server, as a runtime starts it in a box; speaks MCP over stdin and stdout
  bascule sandbox serve --unboxed .  without a box, as yourself, to try it out on this folder"""

_LS_EXAMPLES = """\
  bascule sandbox ls
  bascule sandbox ls --json | jq .boxes"""

_RM_EXAMPLES = """\
  bascule sandbox rm NAME  by the name that `bascule sandbox ls` shows"""

_SERVE_EXAMPLES = """\
  bascule sandbox serve  in a box, as a runtime starts it
  bascule sandbox serve --unboxed .  without a box, as yourself, on this folder"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES))
    command.has_words("deed", required=True)
    look = "list the boxes of this machine's runtimes, and the packages that were fetched for servers"
    add_deed_json(command.word("ls", look).document(_LS_EXAMPLES))
    end = "end a box, or delete fetched packages so that the next start fetches them again"
    exits = {2: "there is none of that name"}
    removing = add_deed_json(command.word("rm", end).document(_RM_EXAMPLES, exits))
    removing.add_argument("names", metavar="NAME", nargs="+", help="as `bascule sandbox ls` shows it")
    summary = "serve tools that run commands, and read, write and list files, in the box that this is started in"
    serve = command.word("serve", summary).document(_SERVE_EXAMPLES)
    serve.add_argument("--unboxed", metavar="FOLDER", help="without a box, on this folder: whoever asks is you")


async def run(options: argparse.Namespace) -> int:
    return await _DEEDS[options.deed](options)


async def _serve(options: argparse.Namespace) -> int:
    from bascule.kit.sandbox_server.server import serve  # noqa: PLC0415 -- nothing of it is needed for the others

    # It has threads of its own, and holds nobody up: nothing else runs in this loop.
    serve(options.unboxed)
    return exit_codes.OK


async def _list(options: argparse.Namespace) -> int:
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- not for the server
    from bascule.sandbox.inventory import boxes_in, layers_in  # noqa: PLC0415

    state = state_folder(os.environ)
    boxes, layers = await boxes_in(state, os.environ), layers_in(state)
    if options.json:
        print(json_line({"boxes": boxes, "layers": layers}))
        return exit_codes.OK
    _show(boxes, layers)
    print(f"{len(boxes)} boxes, {len(layers)} fetched packages")
    return exit_codes.OK


def _show(boxes: "Sequence[ListedBox]", layers: "Sequence[ListedLayer]") -> None:
    from rich.text import Text  # noqa: PLC0415 -- only where something is drawn

    rows = [
        *((box.name, box.engine, box.lane, _age(box.seconds), box.server, _DEAD * box.orphaned) for box in boxes),
        *(
            (layer.name, _size(layer.size), "", _age(layer.seconds), layer.described, _UNPINNED * (not layer.pinned))
            for layer in layers
        ),
    ]
    if rows:
        shown = [[Text(legible(cell)) for cell in row] for row in rows]
        show_rows(("name", "engine or size", "lane", "age", "of", "note"), shown, numbers="age")


async def _remove(options: argparse.Namespace) -> int:
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- the same
    from bascule.sandbox.inventory import end_box, remove_layer  # noqa: PLC0415

    state, removed, missing = state_folder(os.environ), list[str](), list[str]()
    for name in options.names:
        gone = await end_box(state, os.environ, name) or await remove_layer(state, name, REMOVED_WITHIN)
        (removed if gone else missing).append(name)
        if gone and not options.json:
            print(legible(f"removed {name}"))
    if options.json:
        shape: RemovedShape = {"ok": not missing, "removed": removed, "missing": missing}
        print(json_line(shape))
    for name in missing:
        told = UsageError(
            f"no box and no fetched packages are called {name}", fix="`bascule sandbox ls` lists them all"
        )
        print(explain(told), file=sys.stderr)
    return exit_codes.USAGE if missing else exit_codes.OK


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} {_UNITS[-1]}"


_DEEDS: Mapping[str, Callable[[argparse.Namespace], Awaitable[int]]] = {"serve": _serve, "ls": _list, "rm": _remove}
