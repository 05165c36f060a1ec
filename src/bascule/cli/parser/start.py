"""The words of the commands one meets first."""

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUESTED, REQUIRED, add_common, add_config, add_json, add_timeout

_DEMO = """\
  bascule demo  in a few seconds, without a config, a key, Docker or a network
  bascule demo --json | jq .ok  each step, and whether it went as told; exits with 1 if one did not"""

_ADD = """\
  bascule add time -- uvx mcp-server-time==2026.10.19  a command
  bascule add files -- npx -y @modelcontextprotocol/server-filesystem@2026.8.31 .
  bascule add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer ${GITHUB_TOKEN}'
  bascule add server.json --dry-run  only shows what would be written
  bascule add server.json  as the official registry describes it; - reads stdin"""

_IMPORT = """\
  bascule import  what Claude, Cursor, VS Code, Gemini … have, and a diff; changes nothing
  bascule import --write  writes it into bascule.yaml, and says how to undo that
  bascule import --from cursor --only github --write  one server of one program
  bascule import --from ~/old/.mcp.json  of one file
  bascule import --undo  takes the last import back"""

_LIST = """\
  bascule list  every tool of every server in the config of this folder
  bascule list files  only of this server, and no other is started
  bascule list --config ~/.mcp.json  the same for another file
  bascule list --resources --prompts  what the servers offer beside tools as well
  bascule list --tokens  what they cost a model's context, estimated
  bascule list --json | jq .tools  for programs"""

_CALL = """\
  bascule call everything_echo message=hi
  bascule call files_read_text_file path=/data/a.txt --timeout 5
  bascule call search_find tags:='["a","b"]' limit:=10  := takes JSON
  bascule call search_find --arguments '{"tags": ["a"]}'"""

_DOCTOR = """\
  bascule doctor  checks the config, the state folder and every server, and says what to do
  bascule doctor --reap  removes the boxes of runtimes that were killed first, as every start does
  bascule doctor --json | jq .ok"""

_EXPLAIN = """\
  bascule explain BSC-401  what the error means, its usual causes, and how to mend each
  bascule explain  every code there is"""


def add_commands(parser: Parser) -> None:
    exits = {1: "it did not go as told"}
    add_json(parser.word("demo", "watch an agent read private data, work on, and fail to leak it", _DEMO, exits))
    _add(parser)
    _import(parser)
    _list(parser)
    _call(parser)
    _doctor(parser)
    explain = add_json(parser.word("explain", "explain an error by its code, and how to mend it", _EXPLAIN))
    told = "as the error shows it, such as BSC-401; default: all"
    explain.add_argument("code", metavar="CODE", nargs="?", help=told)


def _add(parser: Parser) -> None:
    command = add_config(parser.word("add", "write a server into the config", _ADD))
    command.add_argument("what", metavar="NAME|FILE", help="the server's name; or a server.json, alone; - reads stdin")
    command.add_argument("rest", metavar="COMMAND|URL", nargs="*", help="-- and a command with its arguments; or a URL")
    command.add_argument(
        "--env", metavar="NAME[=VALUE]", action="append", default=[], help="a variable for the command"
    )
    command.add_argument("--header", metavar="'NAME: VALUE'", action="append", default=[], help="a header for the URL")
    told = "what a server.json is called here; default: the end of its own name"
    command.add_argument("--name", metavar="NAME", help=told)
    sources = ("npm", "pypi", "oci", "remote")
    command.add_argument("--from", dest="source", choices=sources, help="which of a server.json's offers to take")
    command.add_argument("--replace", action="store_true", help="replace a server of the same name")
    command.add_argument("--dry-run", action="store_true", help="only show what would be written")


def _import(parser: Parser) -> None:
    summary = "take over the servers that other programs have configured"
    command = add_config(parser.word("import", summary, _IMPORT))
    told = "only of this program, or this file: claude-code, claude-desktop, cursor, vscode, gemini, codex, … or a path"
    command.add_argument("--from", dest="sources", metavar="PROGRAM|FILE", action="append", default=[], help=told)
    command.add_argument("--only", metavar="NAME", action="append", default=[], help="only the server of this name")
    command.add_argument("--write", action="store_true", help="write it; otherwise it is only shown")
    kept = "copy credentials too: into .env beside the config, for you alone to read"
    command.add_argument("--with-secrets", action="store_true", help=kept)
    command.add_argument("--undo", action="store_true", help="take the last import into this config back")


def _list(parser: Parser) -> None:
    summary = "list the tools of every server, and how each server stands"
    command = add_common(parser.word("list", summary, _LIST, REQUIRED))
    command.add_argument("servers", metavar="SERVER", nargs="*", help="only this one, and no other is started")
    command.add_argument("--resources", action="store_true", help="list resources and their templates too")
    command.add_argument("--prompts", action="store_true", help="list prompts too")
    command.add_argument("--tokens", action="store_true", help="estimate what the tools cost a model's context")


def _call(parser: Parser) -> None:
    command = add_common(parser.word("call", "call one tool, under the same rules as an agent", _CALL, REQUESTED))
    command.add_argument("tool", metavar="TOOL", help="the exposed name, as `bascule list` shows it")
    command.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; KEY:=JSON for other than text")
    command.add_argument("--arguments", dest="object", metavar="JSON", help="all arguments as one JSON object")
    add_timeout(command)


def _doctor(parser: Parser) -> None:
    summary = "check everything, and say how to mend what is wrong"
    exits = {2: "the config or the lock is to be mended", 3: "something else is"}
    command = add_common(parser.word("doctor", summary, _DOCTOR, exits))
    command.add_argument("--reap", action="store_true", help="first remove boxes that killed runtimes have left")
