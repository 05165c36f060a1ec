"""`bascule sandbox`: boxes, and the server with which agents work in one."""

import argparse
from collections.abc import Awaitable, Callable, Mapping

from bascule.cli import exit_codes


async def run(options: argparse.Namespace) -> int:
    return await _DEEDS[options.deed](options)


async def _serve(options: argparse.Namespace) -> int:
    from bascule.demo.sandbox_server import serve  # noqa: PLC0415 -- nothing of it is needed for the others

    # It has threads of its own, and holds nobody up: nothing else runs in this loop.
    serve(options.unboxed)
    return exit_codes.OK


_DEEDS: Mapping[str, Callable[[argparse.Namespace], Awaitable[int]]] = {"serve": _serve}
