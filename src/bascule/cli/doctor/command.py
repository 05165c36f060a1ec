"""`bascule doctor`: health checks of everything that a call depends on, each with its fix."""

import argparse

from bascule.cli import exit_codes
from bascule.cli.gc_tuning import loading
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common

_EXAMPLES = """\
  bascule doctor  checks the config, the state folder and every server, and says what to do
  bascule doctor --reap  removes the boxes of runtimes that were killed first, as every start does
  bascule doctor --json | jq .ok"""


def add_options(command: Parser) -> None:
    exits = {2: "the config or the lock is to be mended", 3: "something else is"}
    add_common(command.document(_EXAMPLES, exits))
    command.add_argument("--reap", action="store_true", help="first remove boxes that killed runtimes have left")


async def run(options: argparse.Namespace) -> int:
    with loading():
        from bascule.cli.doctor.examination import examine  # noqa: PLC0415 -- slow, and not for the options
        from bascule.cli.doctor.report import screen  # noqa: PLC0415

    checks = await examine(options)
    ok = all(check.status != "fail" for check in checks)
    print(json_line({"ok": ok, "checks": checks}) if options.json else legible(screen(checks)))
    if ok:
        return exit_codes.OK
    ours = any(check.status == "fail" and check.subject in {"config", "lock"} for check in checks)
    return exit_codes.USAGE if ours else exit_codes.UNREACHABLE
