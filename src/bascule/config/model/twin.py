"""Declared isolated twin of a server: the address or command of the same server without network access."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from bascule.config.model.transport import InProcessTransport, NoTransport, StdioTransport, Transport
from bascule.config.model.transport_choice import remote_flaws, remote_transport
from bascule.config.secret import Secret
from bascule.config.urls import UNIX, scheme_of
from bascule.config.validation import Flaw, credential_flaws, items

Twin = Literal["lazy", "eager"]
TWINS = ("lazy", "eager")
"""When a twin is opened: when it is first needed, or with the server itself."""

_PRIVATE_NAMES = (".internal", ".local", ".lan", ".localhost", ".home.arpa", ".test")
"""Endings of names that no public name server answers."""


def isolated_flaws(url: str | None, command: Any, headers: Mapping[str, str]) -> Iterator[Flaw]:
    """What is wrong with where an operator says the twin is."""
    if url is not None and command is not None:
        yield Flaw(("url_isolated",), "stands beside `command_isolated`; a server has one twin, so keep one of them")
    elif url is not None:
        found = [Flaw(("url_isolated",), flaw.text) for flaw in remote_flaws(url, headers, "auto")]
        yield from found
        if not found and not is_private(url):
            text = "must be a socket (unix:///…) or an address of a private network: a twin that is reached over the "
            yield Flaw(("url_isolated",), f"{text}internet is not isolated")
    elif command is not None:
        yield from _command_flaws(command)


def _command_flaws(command: Any) -> Iterator[Flaw]:
    given = items(command)
    if not given or not all(isinstance(word, str) and "\0" not in word for word in given) or not given[0].strip():
        yield Flaw(("command_isolated",), "must be a list: the program, then its arguments")
        return
    for flaw in credential_flaws(given[1:]):
        yield Flaw(("command_isolated", int(flaw.path[1]) + 1), flaw.text)


def is_private(url: str) -> bool:
    """Whether an address cannot be one of the internet. A name in which nothing shows that counts as public."""
    if scheme_of(url) == UNIX:
        return True
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_PRIVATE_NAMES))


def isolated_transport(
    server: Transport, url: str | None, command: tuple[str, ...] | None, headers: Mapping[str, Secret | str]
) -> Transport | None:
    """How the twin is reached. One that is a process has the folder and the variables of the server's own."""
    if url is not None:
        return remote_transport(url, headers, "auto")
    if command is None:
        return None
    if isinstance(server, StdioTransport):
        return StdioTransport(command[0], command[1:], server.cwd, server.env, server.inherit_env)
    return StdioTransport(command[0], command[1:])


def twin_flaws(transport: Any) -> Iterator[Flaw]:
    if transport is not None and (not isinstance(transport, Transport) or isinstance(transport, NoTransport)):
        yield Flaw(("isolated",), "must be one of bascule.config's transports, such as UnixSocketTransport(url=…)")
    elif isinstance(transport, InProcessTransport):
        yield Flaw(("isolated",), "is in this process, which has a way out")
