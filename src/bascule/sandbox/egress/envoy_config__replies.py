"""What a box is answered when the proxy itself answers: JSON that says why, and what an operator would have to do."""

from typing import Any

from bascule.sandbox.egress.rules import ADDRESS, HOST, PORT, SCHEME

_ASKED = "%REQ(:AUTHORITY):260%"

_KEPT = "Nothing was sent."
_LISTED = "if it may receive confidential data, the operator lists it under `egress.allow` in the config of Bascule"

REFUSED: dict[str, tuple[str, str]] = {
    ADDRESS: (
        f"{_ASKED} is an address. Only names are let through, so that it is known who receives. {_KEPT}",
        "ask for the host by its name",
    ),
    HOST: (
        f"{_ASKED} is not among the hosts that may receive what this agent session has seen. {_KEPT}",
        f"do without this host; {_LISTED}",
    ),
    PORT: (
        f"the port of {_ASKED} is not among those that are let through. {_KEPT}",
        "use http on port 80 or https on port 443; the operator lists others under `egress.ports`",
    ),
    SCHEME: (
        f"only http is asked for in this way; for {_ASKED} the proxy expects CONNECT. {_KEPT}",
        "use a client that knows HTTPS_PROXY: it opens a tunnel with CONNECT",
    ),
}
"""By the rule that refused: why, and what to do about it. Never what else is on the list."""

PRIVATE = (
    f"the name {_ASKED} leads to no address of the internet, but to one of a machine or its network. {_KEPT}",
    "hosts of one's own network are not reached from here; serve what they have as an MCP server",
)
TOO_MANY = ("too many requests in too short a time", "ask again in a second")
UPGRADE = (
    "what is asked for in the clear is not turned into another protocol",
    "use wss or https: a client that knows HTTPS_PROXY opens a tunnel with CONNECT",
)
UNRESOLVED = (f"the name of {_ASKED} was not found", "look at its name, or ask again later")
UNREACHABLE = (f"{_ASKED} could not be asked: %RESPONSE_CODE_DETAILS%", "ask again later")
MALFORMED = ("the proxy does not take this request: %RESPONSE_CODE_DETAILS%", "look at how the request is written")

ANSWERED = "x-bascule-egress"
"""The header by which an answer of the proxy is known from one of the host."""


def replies() -> dict[str, Any]:
    """Envoy's `local_reply_config`. The first that fits is taken."""
    said = "response.code_details"
    return {
        "mappers": [
            *(_reply(rule, f"{said}.contains('matched_policy[{rule}]')", REFUSED[rule]) for rule in REFUSED),
            _reply("private", f"{said}.contains('matched_policy[none]')", PRIVATE),
            _reply("private", f"{said}.contains('address_denied')", PRIVATE, status=403),
            _reply("upgrade", f"{said}.contains('upgrade_failed')", UPGRADE),
            _reply("unresolved", f"{said}.contains('dns_resolution_failure')", UNRESOLVED, status=502),
            _reply("too many", "response.code == 429", TOO_MANY),
            _reply("unreachable", "response.code >= 500", UNREACHABLE),
            _reply("malformed", "response.code >= 400", MALFORMED),
        ]
    }


def _reply(kind: str, when: str, words: tuple[str, str], status: int | None = None) -> dict[str, Any]:
    expression = {
        "@type": "type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter",
        "expression": when,
    }
    reason, fix = words
    return {
        "filter": {"extension_filter": {"name": "cel", "typed_config": expression}},
        **({"status_code": status} if status else {}),
        "body_format_override": {"json_format": {"error": kind, "reason": reason, "fix": fix}},
        "headers_to_add": [{"header": {"key": ANSWERED, "value": kind}}],
    }
