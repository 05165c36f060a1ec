"""Detection of a server's protocol era (stateless MCP, or the older handshake) from its answers. Pure: `negotiation`
sends the requests."""

from typing import Any

from bascule.core.errors import ConnectFailed, PeerRefused, ProtocolViolation
from bascule.core.json_types import JsonObject, as_array, as_object, as_text
from bascule.upstream.settings import Agreement
from bascule.wire.request_meta import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    NEW_VERSIONS,
    OLD_VERSIONS,
    UNSUPPORTED_VERSION,
)

_NEW_ERA_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"


def read_discovery(result: JsonObject) -> Agreement | None:
    """The new era's agreement, or None where the answer is no evidence of that era."""
    offered = [version for version in as_array(result.get("supportedVersions")) if isinstance(version, str)]
    mutual = [version for version in NEW_VERSIONS if version in offered]
    if not mutual:
        return None
    return Agreement(
        version=mutual[-1],
        capabilities=as_object(result.get("capabilities")),
        server_info=as_object(as_object(result.get("_meta")).get(SERVER_INFO_KEY)),
        instructions=as_text(result.get("instructions")) or "",
    )


def is_new_era_refusal(error: PeerRefused) -> bool:
    """Whether only a server of the new era would refuse like this."""
    return error.rpc_code in _NEW_ERA_ERRORS


def version_to_try(error: PeerRefused) -> str | None:
    """The newest version we share with a server that refused ours, if it named any."""
    offered: list[Any] = as_array(as_object(error.data).get("supported"))
    mutual = [version for version in NEW_VERSIONS if version in offered]
    return mutual[-1] if mutual else None


def speaks_no_version_of_ours(error: PeerRefused) -> bool:
    """Whether a server that refused our version named others, all unknown to us: waiting or falling back is no use."""
    offered: list[Any] = as_array(as_object(error.data).get("supported"))
    return bool(offered) and not any(version in offered for version in (*NEW_VERSIONS, *OLD_VERSIONS))


def read_handshake(result: JsonObject) -> Agreement:
    """The old era's agreement. Raises where the server wants a version we do not speak."""
    version = as_text(result.get("protocolVersion"))
    if version is None:
        raise ProtocolViolation("the reply to initialize names no protocolVersion", where="initialize")
    if version not in OLD_VERSIONS:
        raise ConnectFailed(
            f"the server wants protocol version {version[:40]!r}, which we do not speak",
            evidence=f"we speak {', '.join(OLD_VERSIONS)} and {', '.join(NEW_VERSIONS)}",
            fix="update the server, or Bascule",
        )
    return Agreement(
        version=version,
        capabilities=as_object(result.get("capabilities")),
        server_info=as_object(result.get("serverInfo")),
        instructions=as_text(result.get("instructions")) or "",
    )
