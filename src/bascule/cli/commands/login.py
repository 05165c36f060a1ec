"""`bascule login`: OAuth login at a server with the user's browser, proved by one connection."""

import argparse
import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

from bascule.cli import exit_codes
from bascule.cli.json_output.running import LoginShape
from bascule.cli.output.errors import as_json, explain, json_line, legible
from bascule.cli.output.progress import settled
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common, seconds
from bascule.cli.session import agent_session
from bascule.core.errors import LoginFailed
from bascule.core.json_types import as_text
from bascule.runtime.servers.status import LoginReport

if TYPE_CHECKING:
    from bascule.cli.commands.login_callback import Receiver

_EXAMPLES = """\
  bascule login github  opens your browser, or prints the address where there is none
  bascule login github --no-browser  prints the address; the browser has to run on this machine
  bascule login github --user alice  on behalf of another user"""


def add_options(command: Parser) -> None:
    exits = {3: "nobody logged in, or the server cannot be reached with it"}
    add_common(command.document(_EXAMPLES, exits))
    command.add_argument("name", metavar="SERVER", help="the server's name")
    command.add_argument("--no-browser", action="store_true", help="only print the address at which to log in")
    command.add_argument("--timeout", type=seconds, default=300.0, metavar="SECONDS", help="how long to wait for you")
    told = "the port to which the browser returns; default: any"
    command.add_argument("--port", type=int, default=0, metavar="NUMBER", help=told)


async def run(options: argparse.Namespace) -> int:
    import asyncio  # noqa: PLC0415 -- slow, and not for the options

    from bascule.cli.commands.login_callback import receiver  # noqa: PLC0415

    async with agent_session(options) as session, receiver(options.port) as waiting:

        async def ask(url: str) -> str:
            await send_person(url, browser=may_open_browser(options))
            return await waiting.returned_from(url)

        try:
            async with asyncio.timeout(options.timeout):
                report = await session.login(options.name, ask, waiting.redirect_uri)
        except TimeoutError:
            raise _nobody_came(options, waiting) from None
        (show_json if options.json else show_text)(report, session.principal.user_id)
    return exit_codes.OK if report.server.error is None else exit_codes.UNREACHABLE


def may_open_browser(options: argparse.Namespace) -> bool:
    """Only where a person sits before a screen: a browser inside a terminal would take the terminal away."""
    screen = sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return not options.no_browser and not options.json and sys.stderr.isatty() and screen


async def send_person(url: str, *, browser: bool) -> None:
    import asyncio  # noqa: PLC0415 -- as above

    opened = browser and await asyncio.to_thread(_open, url)
    told = "your browser opens; if it does not, log in at" if opened else "log in at"
    settled()
    # Flushed at once: whoever reads this has to act on it while we wait.
    print(f"{told}:\n  {url}\nwaiting for it …", file=sys.stderr, flush=True)


def _open(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def show_text(report: LoginReport, user: str) -> None:
    server = report.server
    print(legible(f"logged in: user {user} at {server.name}, by {report.issuer}"))
    if report.scope:
        print(legible(f"  rights:  {report.scope}"))
    if server.error is not None:
        print(explain(server.error), file=sys.stderr)
        return
    told = dict[str, Any](server.agreement.server_info if server.agreement is not None else {})
    named = " ".join(filter(None, (as_text(told.get("name")), as_text(told.get("version")))))
    print(legible(f"  server:  {named or server.name}, protocol {server.version}, {server.tools} tools"))


def show_json(report: LoginReport, user: str) -> None:
    server = report.server
    shape: LoginShape = {
        "ok": server.error is None,
        "server": server.name,
        "user": user,
        "issuer": report.issuer,
        "scope": report.scope,
        "state": server.state,
        "tools": server.tools,
        "error": as_json(server.error) if server.error is not None else None,
    }
    print(json_line(shape))


def _nobody_came(options: argparse.Namespace, waiting: "Receiver") -> LoginFailed:
    return LoginFailed(
        f"nobody has logged in within {options.timeout:g} s",
        where=options.name,
        evidence=f"{waiting.strays} visitors came with another login" if waiting.strays else "no browser came back",
        fix=f"run `bascule login {options.name}` again, with --timeout if it takes longer",
    )
