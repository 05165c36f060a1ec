"""What servers offer beside tools, as `bascule list` shows it."""

import argparse
from collections.abc import Iterator

from bascule.catalog.resources import Library
from bascule.cli.json_output.listings import ListedPromptShape, ListedResourceShape, ListShape
from bascule.cli.output.errors import finding_mark, finding_shapes, first_line, legible
from bascule.cli.output.tables import show_beside, terminal
from bascule.core.prompt import PromptSpec
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolStatus


def wanted(options: argparse.Namespace) -> frozenset[str]:
    """What was asked for beside tools."""
    return frozenset(kind for kind in ("resources", "prompts") if getattr(options, kind))


def show_offers(library: Library, kinds: frozenset[str]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- a server's words are printed as they are, never as markup

    console = terminal()
    for head, said, style in _lines(library, kinds):
        show_beside(console, Text(f"  {legible(head)}", style), said)
    for problem in library.problems:
        console.print(Text(f"  {legible(problem)}", "yellow"))


def _lines(library: Library, kinds: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    if "resources" in kinds:
        for spec in library.resources:
            said = f"{spec.kind} of {spec.server}. {first_line(spec.description or spec.name)}"
            yield spec.address, finding_mark(spec.findings) + said, "yellow" if spec.findings else "cyan"
    if "prompts" in kinds:
        for spec in library.all_prompts:
            blanks = ", ".join(f"{blank.name}{'' if blank.required else '?'}" for blank in spec.arguments)
            good = spec.status is ToolStatus.EXPOSED
            said = first_line(f"prompt({blanks}) {spec.description}") if good else f"{spec.status}: {spec.problem}"
            yield (
                spec.name,
                finding_mark(spec.findings) + legible(said),
                "cyan" if good and not spec.findings else "yellow",
            )


def add_offers(shape: ListShape, library: Library, kinds: frozenset[str]) -> None:
    """Put the same into a listing's JSON shape."""
    shape["problems"] = list(library.problems)
    if "resources" in kinds:
        shape["resources"] = [_resource(spec) for spec in library.resources]
    if "prompts" in kinds:
        shape["prompts"] = [_prompt(spec) for spec in library.all_prompts]


def _resource(spec: ResourceSpec) -> ListedResourceShape:
    return {
        "server": spec.server,
        "kind": spec.kind,
        "uri": spec.uri or None,
        "uri_template": spec.uri_template or None,
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "mime_type": spec.mime_type,
        "size": spec.size,
        "digest": spec.digest,
        "findings": finding_shapes(spec.findings),
    }


def _prompt(spec: PromptSpec) -> ListedPromptShape:
    return {
        "name": spec.name,
        "server": spec.key.server,
        "prompt": spec.key.tool,
        "title": spec.title,
        "description": spec.description,
        "arguments": [
            {"name": blank.name, "description": blank.description, "required": blank.required}
            for blank in spec.arguments
        ],
        "digest": spec.digest,
        "status": spec.status,
        "findings": finding_shapes(spec.findings),
    }
