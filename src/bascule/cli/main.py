"""The `bascule` command. It learns what to do before it imports anything that takes time."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType

from bascule.cli.parser import build_parser

_NAMES = (
    "list",
    "call",
    "read",
    "prompt",
    "inspect",
    "stubs",
    "approve",
    "doctor",
    "explain",
    "up",
    "logs",
    "sessions",
    "audit",
    "new",
    "add",
    "run",
    "serve",
    "token",
    "sandbox",
    "login",
    "logout",
)
_COMMANDS = {name: f"bascule.cli.{name}_command" for name in _NAMES}


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    options = parse(parser, sys.argv[1:] if argv is None else argv)
    if options.version:
        from bascule import __version__  # noqa: PLC0415

        print(f"bascule {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    return run(options)


def parse(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """What stands behind the first `--` of `add` is a command, taken as it is: argparse would drop its next `--`."""
    if not argv or argv[0] != "add" or "--" not in argv:
        return parser.parse_args(argv)
    at = argv.index("--")
    options = parser.parse_args(argv[:at])
    options.rest += argv[at + 1 :]
    return options


def _module_of(options: argparse.Namespace) -> str:
    if options.command == "serve" and options.stdio:
        # Every start of a client waits for it, and it needs nothing of the web.
        return "bascule.cli.serve_stdio"
    return _COMMANDS[options.command]


def run(options: argparse.Namespace) -> int:
    """Run one command. What goes wrong is told once, in full, and never as a traceback."""
    from bascule.cli import exit_codes  # noqa: PLC0415 -- only now is it known that it is needed
    from bascule.cli.explain import explain  # noqa: PLC0415
    from bascule.core.errors import BasculeError  # noqa: PLC0415

    command = import_module(_module_of(options))
    try:
        # A command that serves says in its own way what it says.
        with getattr(command, "words", nullcontext)(options):
            return _run(command, options)
    except BasculeError as error:
        print(explain(error), file=sys.stderr)
        return exit_codes.of_error(error)


def _run(command: ModuleType, options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 -- only now is it known that it is needed

    from bascule.cli import exit_codes  # noqa: PLC0415
    from bascule.cli.explain import as_json, explain  # noqa: PLC0415
    from bascule.core.errors import BasculeError  # noqa: PLC0415

    try:
        # A command that serves many chooses a faster loop, where there is one.
        with asyncio.Runner(loop_factory=getattr(command, "LOOP_FACTORY", None)) as runner:
            code: int = runner.run(command.run(options))
        # Not left to the end of the process, where nobody can tell that the reader has gone.
        sys.stdout.flush()
    except BasculeError as error:
        if options.json:
            import msgspec  # noqa: PLC0415

            print(msgspec.json.encode({"ok": False, "error": as_json(error)}).decode())
        print(explain(error), file=sys.stderr)
        return exit_codes.of_error(error)
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.TOOL_FAILED
    except KeyboardInterrupt:
        print("aborted", file=sys.stderr)
        return exit_codes.ABORTED
    return code


if __name__ == "__main__":
    sys.exit(main())
