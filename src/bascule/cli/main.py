"""Entry point of the `bascule` command: parses the command line, runs one command, returns its exit code. Imports
nothing third-party before the command is known."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import ModuleType
from typing import TYPE_CHECKING

from bascule.cli.completion.scripts import HIDDEN
from bascule.cli.gc_tuning import loading
from bascule.cli.parser.command_table import build_parser, module_of
from bascule.cli.parser.grammar import Parser, WrongWords

if TYPE_CHECKING:
    from bascule.core.errors import BasculeError


def main(argv: Sequence[str] | None = None) -> int:
    try:
        code = _main(argv)
        # Not left to the end of the process, where nobody can tell that the reader has gone.
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _print_no_more()
        return 1
    except KeyboardInterrupt:
        # Before the command had begun: what it began it ends itself.
        print("aborted", file=sys.stderr)
        return 130
    except Exception as mistake:  # noqa: BLE001 -- the outermost: a person is told what to do, and not only a script by a code
        return _tell_unforeseen(mistake, as_json="--json" in (sys.argv if argv is None else argv))
    return code


def _print_no_more() -> None:
    """Python would complain once more when it flushes at the end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_unforeseen(mistake: Exception, *, as_json: bool) -> int:
    from bascule.cli import exit_codes  # noqa: PLC0415 -- only where something went wrong
    from bascule.cli.output.unexpected import unforeseen  # noqa: PLC0415

    error = unforeseen(mistake)
    try:
        _tell(error, as_json=as_json)
        sys.stdout.flush()
    except OSError:
        # That our output cannot be written may be what went wrong.
        _print_no_more()
    return exit_codes.of_error(error)


def _main(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    with loading():
        if words[:1] == [HIDDEN]:
            from bascule.cli.completion.complete import tell  # noqa: PLC0415 -- only where a shell asks

            return tell(words[1:])
        parser = build_parser(words)
    try:
        options = parse(parser, words)
        if options.command == "help":
            # Not a coroutine like the others: the import of asyncio takes longer than a page of help.
            return module_of("help").run(options)
    except WrongWords as wrong:
        tell_wrong(wrong, as_json="--json" in words)
        raise
    if options.version:
        from bascule import __version__  # noqa: PLC0415

        print(f"bascule {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    return run(options)


def parse(parser: Parser, argv: Sequence[str]) -> argparse.Namespace:
    """What stands behind the first `--` of `add` is a command, taken as it is: argparse would drop its next `--`."""
    at = argv.index("--") if argv and argv[0] == "add" and "--" in argv else len(argv)
    options, left = parser.parse_known_args(argv[:at])
    if left:
        parser.chosen(options).refuse_left(left)
    if at < len(argv):
        options.rest += argv[at + 1 :]
    return options


def tell_wrong(wrong: WrongWords, *, as_json: bool) -> None:
    """Words that make no command are told as every other error is."""
    from bascule.core.errors import UsageError  # noqa: PLC0415 -- only where somebody erred

    _tell(UsageError(wrong.message, fix=wrong.fix), as_json=as_json)


def _tell(error: "BasculeError", *, as_json: bool) -> None:
    from bascule.cli.output.errors import as_json as shape_of  # noqa: PLC0415 -- only where something went wrong
    from bascule.cli.output.errors import explain, json_line  # noqa: PLC0415

    print(explain(error), file=sys.stderr)
    if as_json:
        print(json_line({"ok": False, "error": shape_of(error)}))


def run(options: argparse.Namespace) -> int:
    """Run one command. What goes wrong is told once, in full, and never as a traceback."""
    with loading():
        from bascule.cli import exit_codes  # noqa: PLC0415 -- only now is it known that it is needed
        from bascule.core.errors import BasculeError  # noqa: PLC0415

        command = module_of(options.command)
    try:
        # A command that serves says in its own way what it says.
        with _progress(options), getattr(command, "words", nullcontext)(options):
            return _run(command, options)
    except BasculeError as error:
        _tell(error, as_json=options.json)
        return exit_codes.of_error(error)


def _progress(options: argparse.Namespace) -> AbstractContextManager[None]:
    """What takes long says so: on a terminal, to a person."""
    speaks = options.json or getattr(options, "follow", False) or getattr(options, "stdio", False)
    if speaks or not sys.stderr.isatty() or getattr(options, "deed", None) == "serve":
        return nullcontext()
    from bascule.cli.output.progress import shown_for  # noqa: PLC0415 -- only where somebody looks

    return shown_for(" ".join(filter(None, (options.command, getattr(options, "deed", None)))))


def _run(command: ModuleType, options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 -- only now is it known that it is needed

    from bascule.cli import exit_codes  # noqa: PLC0415
    from bascule.cli.signal_wakeup import woken_by_signals  # noqa: PLC0415
    from bascule.core.errors import BasculeError  # noqa: PLC0415

    # A command that serves many chooses a faster loop, where there is one, which is woken by signals anyway.
    choose = getattr(command, "loop_factory", None)
    faster = None if choose is None else choose(options)
    try:
        with asyncio.Runner(loop_factory=faster) as runner:
            woken = nullcontext() if faster is not None else woken_by_signals(runner.get_loop())
            with woken:
                code: int = runner.run(command.run(options))
    except BasculeError as error:
        _tell(error, as_json=options.json)
        return exit_codes.of_error(error)
    except KeyboardInterrupt:
        print("aborted", file=sys.stderr)
        return exit_codes.ABORTED
    return code


if __name__ == "__main__":
    sys.exit(main())
