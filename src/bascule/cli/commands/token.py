"""`bascule token`: mints a short-lived JWT to try out a kit server by hand."""

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.json_output.running import KeyShape, TokenShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common, seconds
from bascule.cli.session import acting_for, read_config
from bascule.core.errors import UsageError
from bascule.core.principal import Principal

if TYPE_CHECKING:
    from bascule.identity.jwt.claims import Identity
    from bascule.identity.jwt.minting import Mint

_EXAMPLES = """\
  bascule token records --user alice --session s-1  for the entry `records` with `type: server`
  bascule token --audience http://127.0.0.1:8000/mcp --life 60  for a server that is configured elsewhere
  curl -H "Authorization: Bearer $(bascule token records)" http://127.0.0.1:8000/mcp
  bascule token --key  for a server elsewhere, as BASCULE_TOKEN_KEY; it is no secret"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES))
    told = "the server's name: an entry with `type: server`"
    command.add_argument("name", metavar="OWN_SERVER", nargs="?", help=told)
    command.add_argument("--audience", metavar="URL", help="whom it is for, where there is no such entry")
    command.add_argument("--key", action="store_true", help="print what our tokens are verified with, and no token")
    command.add_argument("--life", type=seconds, metavar="SECONDS", help="default, and most: 300")


async def run(options: argparse.Namespace) -> int:
    if options.key:
        return tell_key(options)
    from bascule.identity.jwt.minting import LIFE  # noqa: PLC0415 -- slow, and not for the options

    audience = audience_asked_for(options)
    life = LIFE if options.life is None else options.life
    if life > LIFE:
        raise UsageError(
            f"a token lives for {LIFE:g} seconds at most",
            evidence=f"--life {life:g}",
            fix="ask for another later",
        )
    principal = Principal(*acting_for(options))
    mint = _mint()
    token = mint.token(principal, audience, life)
    identity = await mint.verifier(audience).verify(token)
    if options.json:
        print(json_line(token_shape(token, audience, identity)))
    else:
        print(legible(told(audience, identity)), file=sys.stderr)
        print(token)
    return exit_codes.OK


def _mint() -> "Mint":
    from bascule.config.state_dir import state_folder  # noqa: PLC0415 -- as above
    from bascule.identity.jwt.minting import Mint  # noqa: PLC0415

    return Mint.of(state_folder(os.environ))


def tell_key(options: argparse.Namespace) -> int:
    """What a server is given that has no part in this state folder, and is to believe our tokens."""
    if options.name is not None or options.audience is not None:
        raise UsageError("the key is the same for every server", fix="run `bascule token --key`")
    key = str(_mint().mark)
    shape: KeyShape = {"key": key}
    print(json_line(shape) if options.json else key)
    return exit_codes.OK


def audience_asked_for(options: argparse.Namespace) -> str:
    """Whom the token is for: the server at this address, or the one of this name."""
    from bascule.config.find_server import kit_server_named  # noqa: PLC0415 -- as above
    from bascule.identity.jwt.claims import audience_of_url  # noqa: PLC0415

    if (options.name is None) == (options.audience is None):
        raise UsageError(
            "a token is for one server: name an entry with `type: server`, or its address",
            fix="run `bascule token NAME`, or `bascule token --audience URL`",
        )
    if options.audience is not None:
        if not options.audience.strip() or not options.audience.isprintable():
            raise UsageError("an audience is text, and not empty", fix="give the audience that the server believes in")
        return audience_of_url(options.audience) if "://" in options.audience else options.audience
    return audience_of_url(kit_server_named(read_config(options), options.name).url)


def token_shape(token: str, audience: str, identity: "Identity") -> TokenShape:
    principal = identity.principal
    return {
        "token": token,
        "user": principal.user_id,
        "session": principal.session_id,
        "audience": audience,
        "expires_at": identity.expires_at,
    }


def told(audience: str, identity: "Identity") -> str:
    until = time.strftime("%H:%M:%S", time.localtime(identity.expires_at))
    principal = identity.principal
    return (
        f"for trying out: whoever shows this token to {audience} is user {principal.user_id}, session "
        f"{principal.session_id}, until {until}"
    )
