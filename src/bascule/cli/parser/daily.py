"""The words of the commands for every day: what servers offer, and how they stand."""

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUESTED, REQUIRED, add_common, add_filters, add_timeout, count, seconds

_UP = """\
  bascule up  until Ctrl-C; edit the config meanwhile, and only what changed is restarted
  bascule up --json  one JSON object a line for everything that happens"""

_INSPECT = """\
  bascule inspect everything  a server: how it stands, what it says of itself, its tools
  bascule inspect everything_echo  a tool: its schema, its digest, its permissions
  bascule inspect everything_echo --json"""

_READ = """\
  bascule read notes://all
  bascule read file:///data/a.txt --server files  where several servers could be meant, or none lists it"""

_PROMPT = """\
  bascule prompt notes_summary style=short
  bascule prompt notes_summary style=short --json  every message of it, with its role"""

_APPROVE = """\
  bascule approve files  shows every tool of the server, asks, and locks it in bascule.lock
  bascule approve  the same for what is new or changed at the servers that are locked
  bascule approve files/read_text_file  one tool only, by the server's own name for it
  bascule approve --all --yes  every server, without a question
  bascule approve --json  what waits for approval; exits with 2 if anything does"""

_LOGIN = """\
  bascule login github  opens your browser, or prints the address where there is none
  bascule login github --no-browser  prints the address; the browser has to run on this machine
  bascule login github --user alice  on behalf of another user"""

_LOGOUT = """\
  bascule logout github  forgets the login, here and at the login server
  bascule logout github --user alice  that of another user"""

_LOGS = """\
  bascule logs github  the last 100 lines
  bascule logs github -n 20 --follow  the last 20, then whatever comes
  bascule logs github --user alice  only of the processes that run on her behalf"""

_STUBS = """\
  bascule stubs --out tools.py  every tool as a typed function: `await tools.github_create_issue(session, …)`
  bascule stubs --out tools.py --check  exits with 1 if the tools have changed since
  bascule stubs --server github  those of one server, on stdout"""

_SNIPPET = """\
  bascule snippet pydantic-ai > agent.py  a program that calls a tool of yours; langchain, openai, claude, …
  bascule snippet plain --tool notes_search  with this tool; without a framework
  bascule snippet langchain --offline  asks no server
  bascule snippet cursor  the entry by which an MCP client has all of your servers"""


def add_commands(parser: Parser) -> None:
    add_common(parser.word("up", "link to every server, show how each stands, follow edits", _UP, REQUIRED))
    exits = {3: "the server cannot be reached", 4: "the rules keep it from this agent session"}
    inspect = add_common(parser.word("inspect", "show all that is known of a server or a tool", _INSPECT, exits))
    inspect.add_argument("name", metavar="SERVER|TOOL", help="a server's name, or a tool's exposed name")
    _read(parser)
    _prompt(parser)
    _approve(parser)
    _login(parser)
    logout = add_common(parser.word("logout", "forget the login at a remote server", _LOGOUT))
    logout.add_argument("name", metavar="SERVER", help="the server's name")
    _logs(parser)
    _stubs(parser)
    _snippet(parser)


def _read(parser: Parser) -> None:
    command = add_common(parser.word("read", "read one resource", _READ, REQUESTED))
    command.add_argument("uri", metavar="URI", help="the resource's URI, as `bascule list --resources` shows it")
    command.add_argument("--server", metavar="SERVER", help="the server to ask; default: the one that lists it")
    add_timeout(command)


def _prompt(parser: Parser) -> None:
    command = add_common(parser.word("prompt", "fill in one prompt", _PROMPT, REQUESTED))
    command.add_argument("name", metavar="PROMPT", help="the exposed name, as `bascule list --prompts` shows it")
    command.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; its value is text")
    add_timeout(command)


def _approve(parser: Parser) -> None:
    summary = "look at new and changed tools, and lock them as they are"
    exits = {
        2: "something waits for approval, and nobody could be asked",
        3: "a server cannot be reached",
        4: "a person was asked, and said no",
    }
    command = add_common(parser.word("approve", summary, _APPROVE, exits))
    command.add_argument("names", metavar="SERVER[/TOOL]", nargs="*", help="default: the servers that are locked")
    command.add_argument("--all", action="store_true", help="every server of the config")
    command.add_argument("--yes", action="store_true", help="approve without asking; needed where nobody can be asked")


def _login(parser: Parser) -> None:
    exits = {3: "nobody logged in, or the server cannot be reached with it"}
    command = add_common(parser.word("login", "log in at a remote server", _LOGIN, exits))
    command.add_argument("name", metavar="SERVER", help="the server's name")
    command.add_argument("--no-browser", action="store_true", help="only print the address at which to log in")
    command.add_argument("--timeout", type=seconds, default=300.0, metavar="SECONDS", help="how long to wait for you")
    told = "the port to which the browser returns; default: any"
    command.add_argument("--port", type=int, default=0, metavar="NUMBER", help=told)


def _logs(parser: Parser) -> None:
    command = add_filters(parser.word("logs", "show what a server said on stderr, and how its links fared", _LOGS))
    command.add_argument("name", metavar="SERVER", help="the server's name")
    lines = 100
    told = f"how many; default: {lines}"
    command.add_argument("-n", "--lines", type=count, default=lines, metavar="LINES", help=told)
    command.add_argument("-f", "--follow", action="store_true", help="then show what is added, until Ctrl-C")


def _stubs(parser: Parser) -> None:
    summary = "write the tools as a typed Python module, for an editor"
    exits = {1: "with --check: it is out of date", 3: "a server cannot be reached, so nothing is written"}
    command = add_common(parser.word("stubs", summary, _STUBS, exits))
    command.add_argument("--out", metavar="FILE", help="the module to write; default: stdout")
    command.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if it is out of date")
    told = "only the tools of this server"
    command.add_argument("--server", metavar="SERVER", action="append", default=[], help=told)


def _snippet(parser: Parser) -> None:
    frameworks = ("pydantic-ai", "langchain", "openai", "claude", "weakincentives", "plain")
    clients = ("claude-code", "claude-desktop", "cursor", "vscode", "gemini")
    command = add_common(parser.word("snippet", "print a program that uses the tools in a framework", _SNIPPET))
    told = f"a framework: {', '.join(frameworks)}; or an MCP client: {', '.join(clients)}"
    command.add_argument("framework", metavar="FRAMEWORK", choices=(*frameworks, *clients), help=told)
    command.add_argument("--tool", metavar="TOOL", help="the tool to call; default: one that only reads")
    command.add_argument("--offline", action="store_true", help="do not ask the servers for their tools")
