"""Envoy configuration of the egress proxy: bootstrap, a listener for each sandbox, and the JSON of rejected requests.
Pure: nothing is run here."""

from collections.abc import Iterable
from typing import Any

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.access_log import log_format
from bascule.sandbox.egress.rules import ADDRESS, HOST, PORT, SCHEME, address_match, address_rules, name_rules

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
    """Envoy's `local_reply_config`: JSON responses with the reason for a rejection, and the operator's fix. The first
    entry that fits is taken."""
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


BOOTSTRAP, LISTENERS = "./bootstrap.json", "./listeners.json"
"""Files of the proxy's folder, in which Envoy runs: paths in these are short, however long that of the folder is."""

SOCKET = "egress.sock"

CONNECTIONS = 128
"""At once, of one box. What comes on top is closed at once."""

BURST, PER_SECOND = 1000, 200
"""Requests of one box. They bound the log too: each of them is a line."""

MOST_CONNECTIONS = 8192
"""Of all boxes."""

MOST_NAMES = 8192
"""Names that are remembered with what they were resolved to."""

BUFFER = 256 * 1024
"""Bytes that wait for one side of a connection, before the other is not read any more."""

LONGEST_EXPRESSION = 10_000_000

HEADERS, HEADER_KILOBYTES = 100, 48

CONNECTING, WAITING, IDLE = 10, 300, 600
"""Seconds until a host must be connected; for which nothing may come on a request or in a tunnel; and between two
requests on one connection."""

_CLUSTER = "internet"
_UPSTREAM = "envoy.stream.upstream_address"
_TYPES = "type.googleapis.com/envoy."

_KEPT_BACK = ("proxy-authorization", "proxy-connection", "x-forwarded-proto", "x-request-id")
"""Headers between a box and the proxy, or of Envoy's own making. The host has nothing to do with them."""


def bootstrap(closed: tuple[str, ...]) -> dict[str, Any]:
    """Without an admin interface, so that there is none to be reached."""
    most = {"max_connections": MOST_CONNECTIONS, "max_pending_requests": MOST_CONNECTIONS, "max_requests": 65536}
    monitor = _typed(
        "extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig",
        max_active_downstream_connections=MOST_CONNECTIONS,
    )
    return {
        "node": {"id": "bascule", "cluster": "bascule"},
        "dynamic_resources": {"lds_config": {"path_config_source": {"path": LISTENERS}}},
        # Expressions are as long as the list of hosts is; Envoy would not take five of them otherwise.
        "layered_runtime": {
            "layers": [{"name": "all", "static_layer": {"re2.max_program_size.error_level": LONGEST_EXPRESSION}}]
        },
        "overload_manager": {
            "resource_monitors": [
                {"name": "envoy.resource_monitors.global_downstream_max_connections", "typed_config": monitor}
            ]
        },
        "static_resources": {
            "clusters": [
                {
                    "name": _CLUSTER,
                    "connect_timeout": f"{CONNECTING}s",
                    "lb_policy": "CLUSTER_PROVIDED",
                    "per_connection_buffer_limit_bytes": BUFFER,
                    "circuit_breakers": {"thresholds": [most]},
                    "cluster_type": {
                        "name": "envoy.clusters.dynamic_forward_proxy",
                        "typed_config": _typed(
                            "extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig",
                            dns_cache_config=_names(closed),
                        ),
                    },
                }
            ]
        },
    }


def listeners(egress: Egress, closed: tuple[str, ...], boxes: Iterable[int]) -> dict[str, Any]:
    """One for each box, by its number. A box has no way to another's socket, so the number tells who asked."""
    kind = f"{_TYPES}config.listener.v3.Listener"
    return {"resources": [{"@type": kind, **_listener(egress, closed, box)} for box in boxes]}


def socket_path(box: int) -> str:
    return f"{box}/{SOCKET}"


def _listener(egress: Egress, closed: tuple[str, ...], box: int) -> dict[str, Any]:
    limit = _typed(
        "extensions.filters.network.connection_limit.v3.ConnectionLimit",
        stat_prefix="box",
        max_connections=CONNECTIONS,
    )
    filters = [
        {"name": "envoy.filters.network.connection_limit", "typed_config": limit},
        {"name": "envoy.filters.network.http_connection_manager", "typed_config": _http(egress, closed, box)},
    ]
    return {
        "name": f"box-{box}",
        # Whoever is inside may write to it. Outside, nobody but us gets into the folder above.
        "address": {"pipe": {"path": socket_path(box), "mode": 0o666}},
        "per_connection_buffer_limit_bytes": BUFFER,
        "filter_chains": [{"filters": filters}],
    }


def _http(egress: Egress, closed: tuple[str, ...], box: int) -> dict[str, Any]:
    return _typed(
        "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix="box",
        codec_type="HTTP1",
        # A box is nobody whose word on itself counts, and what it says of itself is passed on as it is.
        use_remote_address=False,
        generate_request_id=False,
        server_header_transformation="PASS_THROUGH",
        normalize_path=False,
        max_request_headers_kb=HEADER_KILOBYTES,
        request_headers_timeout="20s",
        stream_idle_timeout=f"{WAITING}s",
        # A box that ends is not waited for.
        drain_timeout="0.1s",
        delayed_close_timeout="1s",
        common_http_protocol_options={"idle_timeout": f"{IDLE}s", "max_headers_count": HEADERS},
        # Python's own client asks for a tunnel in the words of HTTP/1.0.
        http_protocol_options={"allow_absolute_url": True, "accept_http_10": True},
        upgrade_configs=[{"upgrade_type": "CONNECT"}],
        early_header_mutation_extensions=[_no_orders()],
        access_log=[{"name": "envoy.access_loggers.stdout", **_log(box)}],
        access_log_options={"flush_log_on_tunnel_successfully_established": True},
        local_reply_config=replies(),
        route_config=_routes(),
        http_filters=_filters(egress, closed),
    )


def _filters(egress: Egress, closed: tuple[str, ...]) -> list[dict[str, Any]]:
    """HTTP filters that a request passes, in this order: rate limit, name (`egress.allow`), DNS lookup, resolved
    address. So only names that are allowed are looked up."""
    rbac = "extensions.filters.http.rbac.v3.RBAC"
    often = {"max_tokens": BURST, "tokens_per_fill": PER_SECOND, "fill_interval": "1s"}
    always = {"default_value": {"numerator": 100}}
    chain = {
        "envoy.filters.http.local_ratelimit": _typed(
            "extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
            stat_prefix="box",
            token_bucket=often,
            filter_enabled=always,
            filter_enforced=always,
        ),
        "by-name": _typed(rbac, rules=name_rules(egress)),
        "envoy.filters.http.dynamic_forward_proxy": _typed(
            "extensions.filters.http.dynamic_forward_proxy.v3.FilterConfig",
            dns_cache_config=_names(closed),
            save_upstream_address=True,
        ),
        # Nothing of what is refused here should have come this far.
        "by-address": _typed(rbac, rules=address_rules(closed, _UPSTREAM)),
        "envoy.filters.http.router": _typed("extensions.filters.http.router.v3.Router", suppress_envoy_headers=True),
    }
    return [{"name": name, "typed_config": config} for name, config in chain.items()]


def _names(closed: tuple[str, ...]) -> dict[str, Any]:
    """DNS settings. Addresses outside the public internet are removed from each answer, so that neither a second
    address of a name nor a later one leads there. Cluster and filter need equal settings, or Envoy rejects them."""
    resolver = _typed(
        "extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
        # A name is the one that was asked for, and never one that a domain of this machine makes of it.
        dns_resolver_options={"no_default_search_domain": True},
        filter_unroutable_families=True,
        query_timeout_seconds=3,
        query_tries=2,
    )
    return {
        "name": "names",
        "dns_lookup_family": "V4_PREFERRED",
        "max_hosts": MOST_NAMES,
        "host_ttl": "60s",
        "dns_query_timeout": "8s",
        "resolved_address_filter": address_match(closed, inverted=False),
        "typed_dns_resolver_config": {"name": "envoy.network.dns_resolver.cares", "typed_config": resolver},
    }


def _routes() -> dict[str, Any]:
    where: dict[str, Any] = {"cluster": _CLUSTER, "timeout": "0s"}
    tunnel: dict[str, Any] = {**where, "upgrade_configs": [{"upgrade_type": "CONNECT", "connect_config": {}}]}
    return {
        "virtual_hosts": [
            {
                "name": "every",
                "domains": ["*"],
                "routes": [
                    {"match": {"connect_matcher": {}}, "route": tunnel},
                    {"match": {"prefix": "/"}, "route": where},
                ],
            }
        ],
        "request_headers_to_remove": list(_KEPT_BACK),
    }


def _no_orders() -> dict[str, Any]:
    """Envoy does as it is told by headers of this name, and a box has nothing to tell it."""
    mutation = {"remove_on_match": {"key_matcher": {"prefix": "x-envoy-"}}}
    return {
        "name": "envoy.http.early_header_mutation.header_mutation",
        "typed_config": _typed(
            "extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation", mutations=[mutation]
        ),
    }


def _log(box: int) -> dict[str, Any]:
    """All that is asked, but of what was too much only one in a hundred: else the log would be too much too."""
    one_in_a_hundred = {"runtime_filter": {"runtime_key": "egress.too_many", "percent_sampled": {"numerator": 1}}}
    not_too_many = {"comparison": {"op": "NE", "value": {"default_value": 429, "runtime_key": "egress.limited"}}}
    return {
        "filter": {"or_filter": {"filters": [{"status_code_filter": not_too_many}, one_in_a_hundred]}},
        "typed_config": _typed(
            "extensions.access_loggers.stream.v3.StdoutAccessLog", log_format={"json_format": log_format(box)}
        ),
    }


def _typed(kind: str, **fields: Any) -> dict[str, Any]:
    return {"@type": _TYPES + kind, **fields}
