"""`bascule explain`: the page of an error code, or the list of all codes."""

import argparse

from bascule.cli.commands.explain__error_pages import known_code, page_of
from bascule.cli.exit_codes import OK
from bascule.cli.json_output.setup import CodeShape, CodesShape, ExplainedShape
from bascule.cli.output.errors import json_line
from bascule.cli.output.tables import fitting
from bascule.core.error_codes import CODES, Area


async def run(options: argparse.Namespace) -> int:
    if options.code is None:
        every: CodesShape = {"codes": [_shape(code) for code in CODES]}
        print(json_line(every) if options.json else fitting(_listed()))
        return OK
    code = known_code(options.code)
    page = page_of(code)
    explained: ExplainedShape = {**_shape(code), "page": page}
    print(json_line(explained) if options.json else page.rstrip())
    return OK


def _shape(code: str) -> CodeShape:
    return {"code": code, "area": CODES[code].area, "title": CODES[code].title}


def _listed() -> str:
    """By area: who has no code looks for what it is about."""
    return "\n\n".join(
        "\n".join([area, *(f"  {code}  {known.title}" for code, known in CODES.items() if known.area is area)])
        for area in Area
    )
