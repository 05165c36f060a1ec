"""The command line's words. Imports nothing beyond the standard library: `--help` has to be instant."""

import argparse
from math import inf

_LIST_EXAMPLES = """examples:
  bascule list                        every tool of every server in the config of this folder
  bascule list --config ~/.mcp.json   the same for another file
  bascule list --resources --prompts  what the servers offer beside tools as well
  bascule list --tokens               what they cost a model's context, estimated
  bascule list --json | jq .tools     for programs"""

_READ_EXAMPLES = """examples:
  bascule read notes://today
  bascule read file:///data/a.txt --server files    where several servers could be meant, or none lists it"""

_PROMPT_EXAMPLES = """examples:
  bascule prompt notes_summary style=short"""

_INSPECT_EXAMPLES = """examples:
  bascule inspect everything            a server: how it stands, what it says of itself, its tools
  bascule inspect everything_echo       a tool: its schema, its digest, its permissions
  bascule inspect everything_echo --json"""

_STUBS_EXAMPLES = """examples:
  bascule stubs --out tools.py          every tool as a typed function: `await tools.github_create_issue(session, …)`
  bascule stubs --out tools.py --check  exits with 1 if the tools have changed since
  bascule stubs --server github         those of one server, on stdout"""

_APPROVE_EXAMPLES = """examples:
  bascule approve files                 shows every tool of the server, asks, and locks it in bascule.lock
  bascule approve                       the same for what is new or changed at the servers that are locked
  bascule approve files/read_text_file  one tool only, by the server's own name for it
  bascule approve --all --yes           every server, without a question
  bascule approve --json                what waits for approval; exits with 2 if anything does"""

_DOCTOR_EXAMPLES = """examples:
  bascule doctor                        checks the config, the state folder and every server, and says what to do
  bascule doctor --reap                 removes the boxes of runtimes that were killed first, as every start does
  bascule doctor --json | jq .ok"""

_EXPLAIN_EXAMPLES = """examples:
  bascule explain BSC-401               what the error means, its usual causes, and how to mend each
  bascule explain                       every code there is"""

_UP_EXAMPLES = """examples:
  bascule up                            until Ctrl-C; edit the config meanwhile, and only what changed is restarted
  bascule up --json                     one JSON object a line for everything that happens"""

_LOGS_EXAMPLES = """examples:
  bascule logs github                   the last 100 lines
  bascule logs github -n 20 --follow    the last 20, then whatever comes
  bascule logs github --user alice      only of the processes that run on her behalf"""

_SESSIONS_EXAMPLES = """examples:
  bascule sessions                      every agent session, how private it is, and why
  bascule sessions --user alice         hers alone
  bascule sessions show --user alice --session s-1                  what has changed its level
  bascule sessions raise --user alice --session s-1 --to secret     by hand, also before it has seen anything
  bascule sessions declassify --user alice --session s-1 --to public --reason "test data, after all"
  bascule sessions end --user alice --session s-1                   nothing more is done on its behalf, for good"""

_AUDIT_EXAMPLES = """examples:
  bascule audit show --last 20          what was done last, by every runtime on this machine
  bascule audit show --user alice --since 2h
  bascule audit verify                  whether the log is what was written; exits with 1 if it is not
  bascule audit verify --anchor WRITER:SEQUENCE:MAC        against an anchor that was kept elsewhere, too
  bascule audit export --format csv --since 2026-11-01 audit.csv"""

_SERVE_EXAMPLES = """examples:
  bascule serve                         one MCP endpoint for every client whose token `gateway.auth` believes
  bascule serve --dev                   on this machine alone, without tokens: whoever asks is you
  bascule serve --stdio                 for the one client that starts it; this is what its config names as a command
  bascule serve --host 10.0.0.5 --url https://tools.example/mcp    behind a proxy that clients know by another name"""

_NEW_EXAMPLES = """examples:
  bascule new server records            a working server in the folder `records`, with its tests and its config
  bascule new server records --folder . the same in this folder; what is there is never written over"""

_ADD_EXAMPLES = """examples:
  bascule add time -- uvx mcp-server-time==2026.10.19        a command
  bascule add files -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31 .
  bascule add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  bascule add server.json                                  as the official registry describes it; - reads stdin
  bascule add server.json --dry-run                        only shows what would be written"""

_RUN_EXAMPLES = """examples:
  bascule run records                   serves the entry `records` with `type: server`, until Ctrl-C
  bascule run records --socket /run/records.sock     at a socket file: for a twin without a network
  bascule token records                 prints a token to try it with"""

_MINT_EXAMPLES = """examples:
  bascule token records --user alice --session s-1      for the entry `records` with `type: server`
  bascule token --audience http://127.0.0.1:8000/mcp --life 60    for a server that is configured elsewhere
  curl -H "Authorization: Bearer $(bascule token records)" http://127.0.0.1:8000/mcp
  bascule token --key                                   for a server elsewhere, as BASCULE_TOKEN_KEY; it is no secret"""

_SANDBOX_EXAMPLES = """examples:
  bascule sandbox ls                    the boxes there are, and the packages that were fetched for servers
  bascule sandbox rm NAME               ends a box, or deletes packages: the next start fetches them again
  bascule sandbox serve                 the server, as a runtime starts it in a box; speaks MCP over stdin and stdout
  bascule sandbox serve --unboxed .     without a box, as yourself, to try it out on this folder"""

_LOGIN_EXAMPLES = """examples:
  bascule login github                  opens your browser, or prints the address where there is none
  bascule login github --no-browser     prints the address; the browser has to run on this machine
  bascule login github --user alice     on behalf of another user"""

_LOGOUT_EXAMPLES = """examples:
  bascule logout github                 forgets the login, here and at the login server"""

_CALL_EXAMPLES = """examples:
  bascule call everything_echo message=hi
  bascule call files_read_text_file path=/data/a.txt --timeout 5
  bascule call search_find tags:='["a","b"]' limit:=10     := takes JSON
  bascule call search_find --arguments '{"tags": ["a"]}'"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bascule",
        description="A governed MCP runtime for agents: every server behind one policy, every call on one path.",
        epilog="exit codes: 0 ok · 1 the tool failed · 2 config or usage · 3 not reachable · 4 denied · 130 aborted",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def add(name: str, summary: str, examples: str) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in {"new", "sandbox", "explain"}:
            _add_json(command)
        elif name in {"audit", "add"}:
            _add_config(command)
        elif name in {"logs", "sessions"}:
            _add_filters(command)
        else:
            _add_common(command)
        return command

    _add_list(add("list", "list the tools of every server, and how each server stands", _LIST_EXAMPLES))
    _add_call(add("call", "call one tool", _CALL_EXAMPLES))
    read = add("read", "read one resource", _READ_EXAMPLES)
    read.add_argument("uri", metavar="URI", help="the resource's URI, as `bascule list --resources` shows it")
    read.add_argument("--server", metavar="NAME", help="the server to ask; default: the one that lists it")
    _add_timeout(read)
    prompt = add("prompt", "fill in one prompt", _PROMPT_EXAMPLES)
    prompt.add_argument("name", metavar="NAME", help="the exposed name, as `bascule list --prompts` shows it")
    prompt.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; its value is text")
    _add_timeout(prompt)
    inspect = add("inspect", "show all that is known of a server or a tool", _INSPECT_EXAMPLES)
    inspect.add_argument("name", metavar="NAME", help="a server's name, or a tool's exposed name")
    stubs = add("stubs", "write the tools as a typed Python module, for an editor", _STUBS_EXAMPLES)
    stubs.add_argument("--out", metavar="FILE", help="the module to write; default: stdout")
    stubs.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if it is out of date")
    stubs.add_argument("--server", metavar="NAME", action="append", default=[], help="only the tools of this server")
    _add_approve(add("approve", "look at new and changed tools, and lock them as they are", _APPROVE_EXAMPLES))
    doctor = add("doctor", "check everything, and say how to mend what is wrong", _DOCTOR_EXAMPLES)
    doctor.add_argument("--reap", action="store_true", help="first remove boxes that killed runtimes have left")
    _add_explain(add("explain", "explain an error by its code: what it means, how to mend it", _EXPLAIN_EXAMPLES))
    add("up", "link to every server, show how each stands, and follow edits of the config", _UP_EXAMPLES)
    _add_logs(add("logs", "show what a server said on stderr, and how its links fared", _LOGS_EXAMPLES))
    _add_sessions(add("sessions", "show how private agent sessions are; raise, lower or end one", _SESSIONS_EXAMPLES))
    _add_audit(add("audit", "show what was done, verify that nobody has changed the log of it", _AUDIT_EXAMPLES))
    _add_new(add("new", "write a working server of your own, to begin with", _NEW_EXAMPLES))
    _add_add(add("add", "write a server into the config: a command, a URL, or a server.json", _ADD_EXAMPLES))
    serve = add("run", "serve a server of your own, as the config describes it, until Ctrl-C", _RUN_EXAMPLES)
    serve.add_argument("name", metavar="NAME", help="the server's name: an entry with `type: server`")
    serve.add_argument("--socket", metavar="PATH", help="at this socket file, and at no port")
    serve.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: 127.0.0.1")
    serve.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")
    _add_serve(add("serve", "serve all servers of the config at one MCP endpoint, until Ctrl-C", _SERVE_EXAMPLES))
    _add_token(add("token", "mint a token for trying out a server of your own, for some minutes", _MINT_EXAMPLES))
    _add_sandbox(add("sandbox", "list and end boxes; serve commands and files in one", _SANDBOX_EXAMPLES))
    _add_login(add("login", "log in at a remote server", _LOGIN_EXAMPLES))
    logout = add("logout", "forget the login at a remote server", _LOGOUT_EXAMPLES)
    logout.add_argument("name", metavar="NAME", help="the server's name")
    return parser


def _add_serve(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dev", action="store_true", help="no tokens: whoever asks from this machine is you")
    command.add_argument("--stdio", action="store_true", help="on stdin and stdout, in the agent session `stdio`")
    command.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: `gateway.host`")
    command.add_argument("--port", metavar="NUMBER", type=int, help="and at this port; default: `gateway.port`")
    command.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")
    command.add_argument(
        "--log", choices=("text", "json"), help="how it says what happens; default: $BASCULE_LOG, else text"
    )
    internal = "http://ADDRESS:PORT of this machine, where gateways on other machines that share its `store` reach it"
    command.add_argument("--internal-url", metavar="URL", help=internal)


def _add_common(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument("--user", metavar="ID", help="on whose behalf; default: the user of this machine")
    command.add_argument("--session", metavar="ID", help="in which agent session; default: cli")


def _add_filters(command: argparse.ArgumentParser) -> None:
    _add_config(command)
    command.add_argument("--user", metavar="ID", help="only what is of this user; default: everyone's")
    command.add_argument("--session", metavar="ID", help="only what is of this agent session; default: of all")


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument("--config", metavar="FILE", help="the config file; default: the one found in this folder")
    _add_json(command)


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON, in a shape that is kept stable")


def _add_new(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", metavar="server", choices=("server",), help="what to write; there is only this yet")
    command.add_argument("name", metavar="NAME", help="the name of the server, which stands before those of its tools")
    command.add_argument("--folder", metavar="DIR", help="where to write it; default: a folder of its name")


def _add_add(command: argparse.ArgumentParser) -> None:
    command.add_argument("what", metavar="NAME|FILE", help="the server's name; or a server.json, alone; - reads stdin")
    command.add_argument("rest", metavar="COMMAND|URL", nargs="*", help="-- and a command with its arguments; or a URL")
    command.add_argument(
        "--env", metavar="NAME[=VALUE]", action="append", default=[], help="a variable for the command"
    )
    command.add_argument("--header", metavar="'NAME: VALUE'", action="append", default=[], help="a header for the URL")
    command.add_argument("--name", help="what a server.json is called here; default: the end of its own name")
    sources = ("npm", "pypi", "oci", "remote")
    command.add_argument("--from", dest="source", choices=sources, help="which of a server.json's offers to take")
    command.add_argument("--replace", action="store_true", help="replace a server of the same name")
    command.add_argument("--dry-run", action="store_true", help="only show what would be written")


def _add_sessions(command: argparse.ArgumentParser) -> None:
    deeds = command.add_subparsers(dest="deed", metavar="DEED")

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        deed = deeds.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        # Those that stand before the deed count too, so what is missing here must not undo them.
        for option, word, told in (
            ("--config", "FILE", "the config file, which may say where levels are kept"),
            ("--user", "ID", "the user whose agent session it is"),
            ("--session", "ID", "the agent session"),
        ):
            deed.add_argument(option, metavar=word, default=argparse.SUPPRESS, help=told)
        deed.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        return deed

    add("show", "show what has changed the level of one agent session")
    lift = add("raise", "raise the level of one agent session")
    lift.add_argument("--to", required=True, type=str.lower, choices=("internal", "confidential", "secret"))
    lift.add_argument("--dataset", metavar="NAME", default="", help="the private dataset that it has seen")
    lower = add("declassify", "lower the level of one agent session")
    lower.add_argument("--to", required=True, type=str.lower, choices=("public", "internal", "confidential"))
    end = add("end", "end one agent session: nothing more is done on its behalf, for good")
    for deed in (lift, lower, end):
        deed.add_argument("--reason", metavar="TEXT", default="", required=deed is lower, help="kept in the receipt")
    for deed in (lower, end):
        deed.add_argument("--yes", action="store_true", help="do not ask first")


def _add_audit(command: argparse.ArgumentParser) -> None:
    deeds = command.add_subparsers(dest="deed", metavar="DEED", required=True)

    def add(name: str, summary: str) -> argparse.ArgumentParser:
        deed = deeds.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        told = "the config file, which may say where anchors are kept"
        deed.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help=told)
        deed.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        return deed

    show = add("show", "show what was done, of all runtimes, in order of time")
    export = add("export", "copy the log to a file, as lines of JSON or as a table")
    verify = add("verify", "verify that the log is what was written, and nothing of it is missing")
    for deed in (show, export):
        deed.add_argument("--user", metavar="ID", help="only what is of this user")
        deed.add_argument("--session", metavar="ID", help="only what is of this agent session")
        deed.add_argument("--server", metavar="NAME", help="only what is of this server")
        deed.add_argument("--since", metavar="TIME", help="30s, 10m, 2h, 7d, 2026-11-01 or 2026-11-01T08:30, here")
    show.add_argument("--last", type=count, default=100, metavar="N", help="how many; default: 100")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl")
    export.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: -, which is stdout")
    verify.add_argument(
        "--anchor", metavar="WRITER:SEQUENCE:MAC", action="append", default=[], help="one that was kept elsewhere"
    )


def _add_list(command: argparse.ArgumentParser) -> None:
    command.add_argument("--resources", action="store_true", help="list resources and their templates too")
    command.add_argument("--prompts", action="store_true", help="list prompts too")
    command.add_argument("--tokens", action="store_true", help="estimate what the tools cost a model's context")


def _add_call(command: argparse.ArgumentParser) -> None:
    command.add_argument("tool", metavar="TOOL", help="the exposed name, as `bascule list` shows it")
    command.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; KEY:=JSON for other than text")
    command.add_argument("--arguments", dest="object", metavar="JSON", help="all arguments as one JSON object")
    _add_timeout(command)


def _add_approve(command: argparse.ArgumentParser) -> None:
    command.add_argument("names", metavar="SERVER[/TOOL]", nargs="*", help="default: the servers that are locked")
    command.add_argument("--all", action="store_true", help="every server of the config")
    command.add_argument("--yes", action="store_true", help="approve without asking; needed where nobody can be asked")


def _add_explain(command: argparse.ArgumentParser) -> None:
    command.add_argument("code", metavar="CODE", nargs="?", help="as the error shows it, such as BSC-401; default: all")


def _add_timeout(command: argparse.ArgumentParser) -> None:
    command.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long to wait for the result")


def _add_token(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", nargs="?", help="the server's name: an entry with `type: server`")
    command.add_argument("--audience", metavar="URL", help="whom it is for, where there is no such entry")
    command.add_argument("--key", action="store_true", help="print what our tokens are verified with, and no token")
    command.add_argument("--life", type=seconds, default=300.0, metavar="SECONDS", help="default, and most: 300")


def _add_sandbox(command: argparse.ArgumentParser) -> None:
    deeds = command.add_subparsers(dest="deed", metavar="DEED", required=True)
    summary = "serve tools that run commands, and read, write and list files, in the box that this is started in"
    serve = deeds.add_parser("serve", help=summary, description=summary[0].upper() + summary[1:] + ".")
    look = "list the boxes of this machine's runtimes, and the packages that were fetched for servers"
    listing = deeds.add_parser("ls", help=look, description=look[0].upper() + look[1:] + ".")
    listing.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    end = "end a box, or delete fetched packages so that the next start fetches them again"
    removing = deeds.add_parser("rm", help=end, description=end[0].upper() + end[1:] + ".")
    removing.add_argument("names", metavar="NAME", nargs="+", help="as `bascule sandbox ls` shows it")
    serve.add_argument("--unboxed", metavar="FOLDER", help="without a box, on this folder: whoever asks is you")


def _add_login(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the server's name")
    command.add_argument("--no-browser", action="store_true", help="only print the address at which to log in")
    command.add_argument("--timeout", type=seconds, default=300.0, metavar="SECONDS", help="how long to wait for you")
    command.add_argument("--port", type=int, default=0, help="the port to which the browser returns; default: any")


def _add_logs(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", help="the server's name")
    command.add_argument("-n", "--lines", type=count, default=100, metavar="LINES", help="how many; default: 100")
    command.add_argument("-f", "--follow", action="store_true", help="then show what is added, until Ctrl-C")


def count(text: str) -> int:
    """How many: none, or more."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def seconds(text: str) -> float:
    """A time limit: a number of seconds that ends."""
    value = float(text)
    if not 0 < value < inf:
        raise ValueError(text)
    return value
