"""`bascule new`: writes a working server of one's own, with its tests and its config."""

import argparse
from pathlib import Path

from bascule.cli import exit_codes
from bascule.cli.commands.new__starter import HTTP, starter_files, write_files
from bascule.cli.json_output.setup import NewShape
from bascule.cli.output.errors import json_line, legible


async def run(options: argparse.Namespace) -> int:
    folder = Path(options.name if options.folder is None else options.folder)
    files = starter_files(options.name)
    write_files(folder, files)
    if options.json:
        shape: NewShape = {"name": options.name, "folder": str(folder), "files": [*files]}
        print(json_line(shape))
    else:
        print(legible(told(options.name, folder, [*files])))
    return exit_codes.OK


def told(name: str, folder: Path, files: list[str]) -> str:
    """What was done, and what to do next."""
    steps = (
        (f"cd {folder}", ""),
        ("pytest", "its tests"),
        (f"bascule call {name}_order number=7", "one call, as an agent makes it"),
        ("python client.py", "a program that uses it"),
        (f"bascule run {name}{HTTP}", "serves it over HTTP, until Ctrl-C"),
    )
    width = max(len(step) for step, _ in steps)
    lines = [f"  {step:{width}}  {what}".rstrip() for step, what in steps]
    return "\n".join(
        [f"{folder} holds the server {name} now: {', '.join(files)}", "next:", *lines, "its tools are in tools.py"]
    )
