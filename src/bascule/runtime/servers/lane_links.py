"""Lanes of a server: the config under which it is reached on each lane, by sandbox, isolated twin or the operator's
`vouched`."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from bascule.config.model.oauth import OAuthSettings
from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.sandbox import NONE
from bascule.config.model.transport import NativeTransport, StdioTransport
from bascule.core.sensitivity import DataSensitivity, Lane, lane_for
from bascule.policy.containment import Footing, footing_of


def footing(server: ServerConfig, *, boxed: bool) -> Footing:
    """`boxed`: whether its own command in a tighter box stands in for it."""
    if isinstance(server.transport, NativeTransport):
        return Footing.NATIVE
    return footing_of(has_twin=boxed or server.isolated is not None, vouched=server.vouched)


def ways_of(server: ServerConfig, *, boxed: bool) -> Mapping[Lane, ServerConfig]:
    """How the server is reached on each lane that it can be served on. On any other it cannot be reached at all."""
    if boxed or isinstance(server.transport, NativeTransport):
        # Functions of this program are the same on every lane; which of them go on is for the rules to say.
        return dict.fromkeys(Lane, server)
    ways = {Lane.OPEN: server}
    if server.isolated is not None:
        # Nobody logs in at a twin: it cannot reach whoever would have to be asked.
        # Where a twin that is a process runs is what the operator declares.
        unboxed = NONE if isinstance(server.isolated, StdioTransport) else None
        ways[Lane.SEALED] = replace(server, transport=server.isolated, oauth=OAuthSettings(), sandbox=unboxed)
    elif server.vouched is not None:
        ways[Lane.PROXIED] = server
        if server.vouched is DataSensitivity.SECRET:
            ways[Lane.SEALED] = server
    return ways


def lane_of(server: ServerConfig, level: DataSensitivity) -> Lane:
    """The lane on which a server is asked at this level. A declared twin has no way out at all, so it serves also those
    who might use one that has a few."""
    lane = lane_for(level)
    return Lane.SEALED if lane is not Lane.OPEN and server.isolated is not None else lane


def taken_over(
    servers: Mapping[str, ServerConfig], level: DataSensitivity, boxed: Callable[[ServerConfig], bool]
) -> dict[str, str]:
    """By what each server's tools are served at this level, in the words of a receipt: a box is probed from inside
    before its server runs, a twin is an operator's declaration, and for what it does itself this program answers."""
    if lane_for(level) is Lane.OPEN:
        return {}
    return {name: "probed" if boxed(server) else _by(server, level) for name, server in servers.items()}


def _by(server: ServerConfig, level: DataSensitivity) -> str:
    if isinstance(server.transport, NativeTransport):
        return "native"
    if server.isolated is not None:
        return "declared"
    return "vouched" if server.vouched is not None and server.vouched >= level else "refused"
