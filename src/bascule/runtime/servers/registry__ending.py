"""What an edit of the config has put an end to."""

import asyncio
from dataclasses import dataclass

from bascule.transports.auth.oauth_credentials import Credentials
from bascule.upstream.link import Link


@dataclass(frozen=True, slots=True)
class Ending:
    """All that is over, or begins anew, while it is not done yet."""

    links: list[Link]
    logins: list[Credentials]
    listings: list["asyncio.Task[bool]"]
    """What is being listed anew."""
