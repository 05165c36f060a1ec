"""What `npx` runs once it has found it, which takes it longer than most servers take to start."""

import json

from support.corpus import Package, npm_folder


def program(yes: str, wanted: str, *args: str) -> tuple[str, ...]:
    """The program that npx would run with these words, of the same release, installed once and kept under `build/`."""
    assert yes == "-y"
    name, _, version = wanted.rpartition("@")
    folder = npm_folder(Package(name, version))
    (file,) = json.loads((folder / "package.json").read_text())["bin"].values()
    return ("node", str(folder / file), *args)
