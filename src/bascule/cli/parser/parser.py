"""The command line's words, group by group. Imports nothing beyond the standard library: `--help` has to be instant."""

from bascule.cli.parser import about, daily, operate, servers, start
from bascule.cli.parser.grammar import Parser

GROUPS = {
    "start here": start.add_commands,
    "every day": daily.add_commands,
    "operate": operate.add_commands,
    "build servers": servers.add_commands,
    "this command": about.add_commands,
}
"""Who adds the commands of each group, as `--help` shows them."""

EXIT_CODES = {
    0: "ok",
    1: "the tool failed",
    2: "config or usage",
    3: "not reachable",
    4: "denied",
    130: "aborted",
}


def build_parser() -> Parser:
    codes = [f"{code} {told}" for code, told in EXIT_CODES.items()]
    told = f"exit codes: {' · '.join(codes[:3])}\n            {' · '.join(codes[3:])}"
    parser = Parser(
        prog="bascule",
        description="A governed MCP runtime for agents:\nevery server behind one policy, every call on one path.",
        epilog=f"`bascule help COMMAND` shows one of them, with examples.\n\n{told}",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.has_words("command")
    for title, add_commands in GROUPS.items():
        known = {*parser.words}
        add_commands(parser)
        parser.groups[title] = [name for name in parser.words if name not in known]
    return parser
