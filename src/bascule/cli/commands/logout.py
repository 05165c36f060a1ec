"""`bascule logout`: deletes an OAuth login here and revokes it at the authorization server."""

import argparse

from bascule.cli import exit_codes
from bascule.cli.json_output.running import LogoutShape
from bascule.cli.output.errors import json_line
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common
from bascule.cli.session import agent_session

_EXAMPLES = """\
  bascule logout github  forgets the login, here and at the login server
  bascule logout github --user alice  that of another user"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES))
    command.add_argument("name", metavar="SERVER", help="the server's name")


async def run(options: argparse.Namespace) -> int:
    async with agent_session(options) as session:
        revoked = await session.logout(options.name)
        user = session.principal.user_id
    if options.json:
        shape: LogoutShape = {
            "ok": True,
            "server": options.name,
            "user": user,
            "was_logged_in": revoked is not None,
            "revoked": bool(revoked),
        }
        print(json_line(shape))
    else:
        print(told(user, options.name, revoked=revoked))
    return exit_codes.OK


def told(user: str, server: str, *, revoked: bool | None) -> str:
    if revoked is None:
        return f"user {user} was not logged in at {server}"
    if revoked:
        return f"logged out: user {user} at {server}; the login server has revoked the tokens"
    return (
        f"logged out: user {user} at {server}; the tokens are forgotten here, but the login server did not revoke "
        "them, so they end when their time is up"
    )
