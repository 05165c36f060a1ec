"""Sections of the config reference page: groups of keys that are read together, their text, and an example of each."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Keys that are read together. A key with others inside it stands for them."""

    title: str
    keys: tuple[str, ...]
    words: str
    example: str
    """A config that loads, in which every key of the group is written."""
    server: bool = True


GROUPS = (
    Group(
        "How a server is reached",
        (
            *("command", "args", "cwd", "env", "inherit_env", "url", "transport", "headers", "headers_command"),
            *("oauth", "container", "era", "required"),
        ),
        "A server has a `command` to be started by, or a `url` to be reached at. Its name is `[a-z][a-z0-9_-]*`, at most 32 characters.",
        """
mcp_servers:
  files:
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem@2026.8.31", /data]
    cwd: /data
    env: {TOKEN: "${TOKEN:-none}"}
    inherit_env: [HTTP_PROXY, "NPM_*"]
    era: old
    required: true
  tickets:
    url: https://tickets.example/mcp
    transport: http
    headers: {X-Team: bridges}
    oauth: {client_id: bascule, client_secret: "${TICKETS_SECRET:-none}", scopes: [read]}
  wiki:
    url: https://wiki.example/mcp
    headers_command: [/usr/local/bin/wiki-headers, --json]
  inside:
    container: my-service
    command: my-mcp-server
""",
    ),
    Group(
        "What agents see",
        ("prefix", "tools", "render", "limit"),
        "`limit` names a preset of `results.presets`, or one that is always there: `default`, `sql_query`, `log_search`. See [results](../results.md).",
        """
mcp_servers:
  files:
    command: my-files
    prefix: docs
    tools: {allow: ["read_*", list], block: [read_secret]}
    render: json
    limit: log_search
""",
    ),
    Group(
        "What is trusted",
        ("permissions", "idempotent", "trust", "ask", "raises", "vouched", "kit"),
        "A tool of which nothing is said may do everything, `[write, connect]`, and is treated so. See [the trust model](../concepts/trust.md).",
        """
mcp_servers:
  files:
    command: my-files
    permissions: {read_text_file: read, write_file: write, fetch: [read, connect]}
    idempotent: [write_file]
    trust: [annotations, labels]
    ask: [delete_file]
    raises: {read_text_file: confidential}
  records:
    url: http://127.0.0.1:8000/mcp
    kit: true
    vouched: confidential
""",
    ),
    Group(
        "Its twin",
        ("url_isolated", "command_isolated", "twin"),
        "What serves its tools once an agent session is private. A server that runs in a box has one for free. See [lanes](../concepts/lanes.md).",
        """
mcp_servers:
  records:
    url: https://records.example/mcp
    url_isolated: unix:///run/records-sealed.sock
    twin: eager
  search:
    url: https://search.example/mcp
    command_isolated: [search-server, --offline]
""",
    ),
    Group(
        "Its box",
        ("sandbox",),
        "Servers that are processes run in boxes unless `sandbox: none` is written. See [servers in boxes](../sandbox.md).",
        """
mcp_servers:
  loose:
    command: my-server
    sandbox: none
  boxed:
    command: my-server
    sandbox:
      engine: docker
      image: my-image:1
      mounts: [{path: /data, mode: ro}]
      memory: 256MiB
      cpus: 0.5
      pids: 64
      disk: 100MiB
      session_limit: 600
""",
    ),
    Group(
        "Its link",
        ("lifetime", "stateless", "timeouts", "heartbeat", "restart", "limits"),
        "See [lifetimes](../concepts/lifetimes.md).",
        """
mcp_servers:
  files:
    command: my-files
    lifetime: shared
    stateless: true
    timeouts: {connect: 30, reconnect: 10, probe: 2, list: 10, call: 20, close: 3}
    heartbeat: {interval: 15, stale_after: 60}
    restart: {attempts: 3, backoff: 1}
    limits: {concurrent: 8, per_minute: 600, bytes_per_minute: 64MiB}
""",
    ),
    Group(
        "A server of your own, started by `bascule run`",
        ("type", "target", "instructions", "port", "auth"),
        "See [the kit](../kit.md) and [whose tokens are believed](../identity.md).",
        """
mcp_servers:
  desk:
    type: server
    target: desk/server.py
    instructions: Notes of the front desk.
    port: 8000
    auth:
      keys: [{jwks: "https://id.example/keys"}]
      issuer: https://id.example
      audience: http://127.0.0.1:8000/mcp
      claims: {user: email, session: sid}
""",
    ),
    Group(
        "Who may receive",
        ("egress",),
        "Hosts to which servers in the proxied lane get through. See [who may receive](../egress.md).",
        """
mcp_servers: {}
egress:
  allow: [api.internal.example, "*.records.example"]
  ports: [443]
""",
        server=False,
    ),
    Group(
        "Bounds on links and messages",
        ("links", "messages"),
        "",
        """
mcp_servers: {}
links: {max: 200, starting: 4}
messages: {max: 16MiB}
""",
        server=False,
    ),
    Group(
        "The catalog, and results",
        ("catalog", "results"),
        "See [locking](../lock.md), [screening](../screening.md), [search](../search.md) and [results](../results.md).",
        """
mcp_servers: {}
catalog: {lock: required, screen: refuse, search_above: 40}
results:
  presets:
    brief: {characters: 1500, head_rows: 5}
""",
        server=False,
    ),
    Group(
        "What is kept",
        ("workspace", "store", "audit"),
        "See [workspaces](../workspace.md), [the store](../store.md) and [the audit log](../audit.md).",
        """
mcp_servers: {}
workspace: {root: /var/lib/bascule/workspaces, quota: 2GiB}
store: /var/lib/bascule/state.db
audit: {arguments: full, anchor_every: 30}
""",
        server=False,
    ),
    Group(
        "The gateway",
        ("gateway",),
        "See [the gateway](../gateway.md).",
        """
mcp_servers: {}
gateway:
  host: 127.0.0.1
  port: 8470
  workers: 2
  auth:
    keys: [{jwks: "https://id.example/keys"}]
    issuer: https://id.example
    audience: https://gateway.example/mcp
    claims: {user: email, session: sid}
""",
        server=False,
    ),
    Group(
        "The dashboard",
        ("dashboard",),
        "See [the dashboard](../dashboard.md).",
        """
mcp_servers: {}
dashboard: {enabled: false, token: "${DASHBOARD_TOKEN:-auto}"}
""",
        server=False,
    ),
    Group(
        "Telemetry",
        ("telemetry",),
        "See [watch it](../telemetry.md), and [all metrics and spans](metrics.md).",
        """
mcp_servers: {}
telemetry:
  otlp: http://127.0.0.1:4318
  prometheus: 127.0.0.1:9464
""",
        server=False,
    ),
)
