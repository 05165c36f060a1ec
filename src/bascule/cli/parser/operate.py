"""The words of the commands for whoever operates a runtime for others."""

import argparse
from collections.abc import Mapping

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common, add_config, add_deed_json, add_filters, add_json, count

_SERVE = """\
  bascule serve  one MCP endpoint for every client whose token `gateway.auth` believes
  bascule serve --dev  on this machine alone, without tokens: whoever asks is you
  bascule serve --demo  the built-in servers, without a config, and a few small agents at work on them
  bascule serve --stdio  for the one client that starts it; this is what its config names as a command
  bascule serve --host 10.0.0.5 --url https://tools.example/mcp  behind a proxy that clients know by another name"""

_SESSIONS = """\
  bascule sessions  every agent session, how private it is, and why
  bascule sessions --user alice  hers alone
  bascule sessions show --user alice --session s-1  what has changed its level
  bascule sessions raise --user alice --session s-1 --to secret  by hand, also before it has seen anything
  bascule sessions declassify --user alice --session s-1 --to public --reason "test data, after all"
  bascule sessions end --user alice --session s-1  nothing more is done on its behalf, for good"""

_SHOW = """\
  bascule sessions show --user alice --session s-1
  bascule sessions show --user alice --session s-1 --json  every receipt, for programs"""

_RAISE = """\
  bascule sessions raise --user alice --session s-1 --to secret
  bascule sessions raise --user alice --session s-1 --to confidential --dataset payroll --reason "uploaded by hand" """

_DECLASSIFY = """\
  bascule sessions declassify --user alice --session s-1 --to public --reason "test data, after all"
  bascule sessions declassify --user alice --session s-1 --to internal --reason "reviewed" --yes  without a question"""

_END = """\
  bascule sessions end --user alice --session s-1
  bascule sessions end --user alice --session s-1 --reason "left the company" --yes"""

_AUDIT = """\
  bascule audit show --last 20  what was done last, by every runtime on this machine
  bascule audit show --user alice --since 2h
  bascule audit verify  whether the log is what was written; exits with 1 if it is not
  bascule audit verify --anchor WRITER:SEQUENCE:MAC  against an anchor that was kept elsewhere, too
  bascule audit export --format csv --since 2026-11-01 audit.csv"""

_AUDIT_SHOW = """\
  bascule audit show --last 20
  bascule audit show --user alice --since 2h
  bascule audit show --server github --json | jq .records"""

_AUDIT_EXPORT = """\
  bascule audit export audit.jsonl
  bascule audit export --format csv --since 2026-11-01 audit.csv"""

_AUDIT_VERIFY = """\
  bascule audit verify  exits with 1 if the log is not what was written
  bascule audit verify --anchor WRITER:SEQUENCE:MAC  against an anchor that was kept elsewhere, too"""

_SANDBOX = """\
  bascule sandbox ls  the boxes there are, and the packages that were fetched for servers
  bascule sandbox rm NAME  ends a box, or deletes packages: the next start fetches them again
  bascule sandbox serve  the server, as a runtime starts it in a box; speaks MCP over stdin and stdout
  bascule sandbox serve --unboxed .  without a box, as yourself, to try it out on this folder"""

_SANDBOX_SERVE = """\
  bascule sandbox serve  in a box, as a runtime starts it
  bascule sandbox serve --unboxed .  without a box, as yourself, on this folder"""

_SANDBOX_LS = """\
  bascule sandbox ls
  bascule sandbox ls --json | jq .boxes"""

_SANDBOX_RM = """\
  bascule sandbox rm NAME  by the name that `bascule sandbox ls` shows"""


def add_commands(parser: Parser) -> None:
    _serve(parser)
    _sessions(parser)
    _audit(parser)
    _sandbox(parser)


def _serve(parser: Parser) -> None:
    summary = "serve every server of the config at one MCP endpoint"
    command = add_common(parser.word("serve", summary, _SERVE))
    command.add_argument("--dev", action="store_true", help="no tokens: whoever asks from this machine is you")
    ways = command.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="on stdin and stdout, in the agent session `stdio`")
    ways.add_argument("--demo", action="store_true", help="the built-in servers, with agents at work; as with --dev")
    command.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: `gateway.host`")
    command.add_argument("--port", metavar="NUMBER", type=int, help="and at this port; default: `gateway.port`")
    command.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")
    command.add_argument(
        "--log", choices=("text", "json"), help="how it says what happens; default: $BASCULE_LOG, else text"
    )
    internal = (
        "ADDRESS:PORT of this machine, with http:// or https://, where gateways on others with its `store` reach it"
    )
    command.add_argument("--internal-url", metavar="URL", help=internal)
    command.add_argument("--internal-cert", metavar="FILE", help="with https://: the certificate it shows them, in PEM")
    command.add_argument("--internal-key", metavar="FILE", help="and the key of that certificate")
    command.add_argument("--internal-ca", metavar="FILE", help="and the authority that has signed those of all of them")


def _sessions(parser: Parser) -> None:
    summary = "show how private agent sessions are; raise, lower or end one"
    command = add_filters(parser.word("sessions", summary, _SESSIONS))
    command.has_words("deed")

    def add(name: str, summary: str, examples: str, exits: Mapping[int, str] | None = None) -> Parser:
        deed = command.word(name, summary, examples, exits)
        # Those that stand before the deed count too, so what is missing here must not undo them.
        for option, word, told in (
            ("--config", "FILE", "the config file, which may say where levels are kept"),
            ("--user", "ID", "the user whose agent session it is"),
            ("--session", "ID", "the agent session"),
        ):
            deed.add_argument(option, metavar=word, default=argparse.SUPPRESS, help=told)
        return add_deed_json(deed)

    add("show", "show what has changed the level of one agent session", _SHOW)
    lift = add("raise", "raise the level of one agent session", _RAISE)
    levels = ("internal", "confidential", "secret")
    lift.add_argument("--to", required=True, type=str.lower, choices=levels, help="the level it has then, at least")
    lift.add_argument("--dataset", metavar="NAME", default="", help="the private dataset that it has seen")
    unagreed = {4: "a person was asked, and said no; nothing was changed"}
    lower = add("declassify", "lower the level of one agent session", _DECLASSIFY, unagreed)
    levels = ("public", "internal", "confidential")
    lower.add_argument("--to", required=True, type=str.lower, choices=levels, help="the level it has then")
    end = add("end", "end one agent session: nothing more is done on its behalf, for good", _END, unagreed)
    for deed in (lift, lower, end):
        deed.add_argument("--reason", metavar="TEXT", default="", required=deed is lower, help="kept in the receipt")
    for deed in (lower, end):
        deed.add_argument("--yes", action="store_true", help="do not ask first")


def _audit(parser: Parser) -> None:
    command = add_config(parser.word("audit", "show what was done, verify that nobody changed the log", _AUDIT))
    command.has_words("deed", required=True)

    def add(name: str, summary: str, examples: str, exits: Mapping[int, str] | None = None) -> Parser:
        deed = command.word(name, summary, examples, exits)
        told = "the config file, which may say where anchors are kept"
        deed.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help=told)
        return add_deed_json(deed)

    show = add("show", "show what was done, of all runtimes, in order of time", _AUDIT_SHOW)
    export = add("export", "copy the log to a file, as lines of JSON or as a table", _AUDIT_EXPORT)
    summary = "verify that the log is what was written, and nothing of it is missing"
    verify = add("verify", summary, _AUDIT_VERIFY, {1: "the log is not what was written"})
    for deed in (show, export):
        deed.add_argument("--user", metavar="ID", help="only what is of this user")
        deed.add_argument("--session", metavar="ID", help="only what is of this agent session")
        deed.add_argument("--server", metavar="SERVER", help="only what is of this server")
        deed.add_argument("--since", metavar="TIME", help="30s, 10m, 2h, 7d, 2026-11-01 or 2026-11-01T08:30, here")
    last = 100
    show.add_argument("--last", type=count, default=last, metavar="N", help=f"how many; default: {last}")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl", help="default: jsonl")
    export.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, which is stdout")
    verify.add_argument(
        "--anchor", metavar="WRITER:SEQUENCE:MAC", action="append", default=[], help="one that was kept elsewhere"
    )


def _sandbox(parser: Parser) -> None:
    command = add_json(parser.word("sandbox", "list and end boxes; serve commands and files in one", _SANDBOX))
    command.has_words("deed", required=True)
    look = "list the boxes of this machine's runtimes, and the packages that were fetched for servers"
    add_deed_json(command.word("ls", look, _SANDBOX_LS))
    end = "end a box, or delete fetched packages so that the next start fetches them again"
    exits = {2: "there is none of that name"}
    removing = add_deed_json(command.word("rm", end, _SANDBOX_RM, exits))
    removing.add_argument("names", metavar="NAME", nargs="+", help="as `bascule sandbox ls` shows it")
    summary = "serve tools that run commands, and read, write and list files, in the box that this is started in"
    serve = command.word("serve", summary, _SANDBOX_SERVE)
    serve.add_argument("--unboxed", metavar="FOLDER", help="without a box, on this folder: whoever asks is you")
