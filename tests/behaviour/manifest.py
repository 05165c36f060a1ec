"""Every behaviour the product must have, one row each, with the milestone at which it is due.

A row that is due needs a test in this folder that carries its id: `@pytest.mark.requirement("CFG-1")`. An id never
changes its meaning.
"""

from dataclasses import dataclass

MILESTONE = 10
"""The last milestone that was reached. Rows due up to here must have their tests."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One behaviour. `says` recalls it; it does not define it."""

    id: str
    due: int
    says: str


CONFIGURATION = (
    Requirement("CFG-1", 1, "one validated model of a server, which every loader produces"),
    Requirement("CFG-2", 1, "our YAML, and the JSON files of other clients read as they are"),
    Requirement("CFG-3", 1, "variables in one pass; an unset one refuses that server only"),
    Requirement("CFG-4", 8, "servers of one agent from numbered environment variables"),
    Requirement("CFG-5", 1, "one error lists every problem with its path and a suggestion"),
    Requirement("CFG-6", 1, "secrets never print; a credential in args is refused"),
    Requirement("CFG-7", 6, "our own servers stand in the same file and start by name"),
    Requirement("CFG-8", 3, "an edit while running touches only the servers that changed"),
)

TRANSPORTS = (
    Requirement("TRN-1", 1, "stdio: lines of JSON-RPC, argv only, own process group"),
    Requirement("TRN-2", 2, "streamable HTTP, then HTTP+SSE; 401 and 403 decide no era"),
    Requirement("TRN-3", 2, "WebSocket, subprotocol offered, credentials in headers only"),
    Requirement("TRN-4", 7, "exec into a container, its two output streams taken apart"),
    Requirement("TRN-5", 2, "HTTP over a socket file, for twins without a network"),
    Requirement("TRN-6", 1, "a server object in our own process"),
    Requirement("TRN-7", 1, "one factory; one contract suite over all transports"),
    Requirement("TRN-8", 2, "Content-Length framing is understood when a server uses it"),
    Requirement("TRN-9", 1, "a child gets the configured environment, a safe base and no descriptors"),
    Requirement("TRN-10", 1, "failures keep their HTTP status, headers that matter and phase"),
    Requirement("TRN-11", 2, "OAuth login per issuer and principal; waiting for it blocks nobody"),
    Requirement("TRN-12", 1, "stderr is drained into a bounded ring and shown when a start fails"),
)

LINKS = (
    Requirement("LNK-1", 1, "lazy or eager, bounded in number; a bad server delays no other"),
    Requirement("LNK-2", 1, "one owner task; closing works from any task, at any time, twice"),
    Requirement("LNK-3", 1, "both protocol eras without a setting, and the answer remembered"),
    Requirement("LNK-4", 1, "finite limits for every phase; queueing costs a call nothing"),
    Requirement("LNK-5", 3, "a heartbeat that fits the era and never kills a busy link"),
    Requirement("LNK-6", 3, "death fails pending calls at once; restarts back off, then end"),
    Requirement("LNK-7", 3, "nothing is sent twice unless that is harmless"),
    Requirement("LNK-8", 3, "a bounded, fair pool by server, lane and principal"),
    Requirement("LNK-9", 1, "states are told apart, each with its reason"),
    Requirement("LNK-10", 3, "closing leaves nothing, also after our own violent death"),
    Requirement("LNK-11", 3, "how long a link lives is a word in the config"),
)

CATALOG = (
    Requirement("CAT-1", 1, "all pages, with caps on pages, tools and repeated cursors"),
    Requirement("CAT-2", 1, "exposed names by a table; of two that collide neither is exposed"),
    Requirement("CAT-3", 1, "a digest over the whole definition as it came, key order aside"),
    Requirement("CAT-4", 1, "an unchanged digest registers nothing again; digests survive a restart"),
    Requirement("CAT-5", 4, "a lock file of approved digests; what differs is quarantined"),
    Requirement("CAT-6", 3, "the catalog follows the server live; a removed tool says so"),
    Requirement("CAT-7", 2, "texts are screened for what is hidden or speaks to the model"),
    Requirement("CAT-8", 8, "tools are found by words, in process"),
    Requirement("CAT-9", 9, "resources, prompts and completions take the same path and policy"),
    Requirement("CAT-10", 8, "Python functions as tools, governed and recorded alike"),
    Requirement("CAT-11", 8, "servers are added from the registry; unpinned packages are pointed out"),
)

POLICY = (
    Requirement("POL-1", 1, "exposure is allow less block, by patterns on the server's own names"),
    Requirement("POL-2", 4, "permission classes by the operator's map; a server can only tighten it"),
    Requirement("POL-3", 4, "a refusal names the rule, the reason and the remedy"),
    Requirement("POL-4", 1, "an exception inside a rule is a refusal"),
    Requirement("POL-5", 4, "a call can wait for a person; no answer is a refusal"),
    Requirement("POL-6", 3, "limits per principal and server, refused with when to come back"),
)

RATCHET = (
    Requirement("RAT-1", 4, "a level per principal that only ever rises, whatever happens"),
    Requirement("RAT-2", 4, "private datasets raise durably; what cannot be read counts as SECRET"),
    Requirement("RAT-3", 4, "the level leaves a lane: open, proxied or sealed"),
    Requirement("RAT-4", 4, "once a raise returns, nobody writes to a wider lane"),
    Requirement("RAT-5", 4, "the twin serves the same tool; without a fitting twin the call is refused"),
    Requirement("RAT-6", 4, "one table of what confined and loose servers may still do"),
    Requirement("RAT-7", 4, "learned from datasets, trusted labels and rules that raise before sending"),
    Requirement("RAT-8", 4, "nothing is released before what it teaches is fenced"),
    Requirement("RAT-9", 4, "every raise leaves a receipt; only an operator can lower a level"),
    Requirement("RAT-10", 4, "the security model states what is not promised"),
    Requirement("RAT-11", 10, "an elicitation by URL from a private lane is declined, and its address not delivered"),
    Requirement("RAT-12", 10, "fields that a client fetches by itself are removed from what a private lane returns"),
    Requirement("RAT-20", 10, "the level is at least that of the mark beside the files, whatever the store"),
    Requirement("RAT-21", 10, "a level mark that is lost, damaged or ahead of its store is SECRET until declassified"),
    Requirement("RAT-22", 10, "a raise is in the level mark before it returns; only declassify lowers the mark"),
    Requirement("RAT-23", 10, "workspaces of 0.1.0 get their level marks at the first start, with an audit record"),
    Requirement("RAT-24", 10, "no server in a sandbox reaches a level mark"),
)

EXECUTING = (
    Requirement("EXE-1", 1, "one path for every request, whatever door it came through"),
    Requirement("EXE-2", 3, "aborting works at every moment and reaches the server"),
    Requirement("EXE-3", 1, "a closed set of failure kinds; our own bugs propagate"),
    Requirement("EXE-4", 1, "exactly one event per call, on every path"),
    Requirement("EXE-5", 5, "state and workspace are restored on failure; remote effects are unknown"),
    Requirement("EXE-6", 1, "only the arguments that were given travel"),
    Requirement("EXE-7", 1, "progress reaches the caller and extends no deadline"),
    Requirement("EXE-8", 2, "elicitation and sampling by callbacks, refused by default"),
    Requirement("EXE-9", 1, "structured results are validated; the raw result is kept"),
)

RESULTS = (
    Requirement("RES-1", 1, "the text of an error is found where servers put it, with code and retriable"),
    Requirement("RES-2", 1, "the whole structured content stays attached as the cause"),
    Requirement("RES-3", 6, "errors to retry and errors that end a run, honoured from trusted servers"),
    Requirement("RES-4", 1, "structured content is shown once, as YAML or JSON"),
    Requirement("RES-5", 6, "long results are saved whole and previewed by type, within a bound"),
    Requirement("RES-6", 6, "the same limit on tools of others; errors and images are never cut"),
)

TYPES = (
    Requirement("TYP-1", 8, "schemas become frozen dataclasses, awkward names included"),
    Requirement("TYP-2", 1, "arguments are validated by the schema; no reference is fetched, cost is bounded"),
    Requirement("TYP-3", 8, "a typed module for an editor, one function per tool"),
)

WORKSPACE = (
    Requirement("WSP-1", 5, "agents see /workspace and no host path, each session its own"),
    Requirement("WSP-2", 5, "no way out of it, whatever the path or the race"),
    Requirement("WSP-3", 5, "ids are any printable text; folders are named by their hash"),
    Requirement("WSP-4", 5, "a quota, whose end loses nothing written before"),
)

KIT = (
    Requirement("KIT-1", 6, "one factory makes a server with identity and host checks wired"),
    Requirement("KIT-2", 6, "identity from the token, by context variables, failing closed"),
    Requirement("KIT-3", 6, "a tool without a declared permission cannot be registered"),
    Requirement("KIT-4", 6, "connectors without MCP; a source's sensitivity comes before its rows"),
    Requirement("KIT-5", 6, "known errors can be retried, unexpected ones propagate masked"),
    Requirement("KIT-6", 6, "a template and a guide that the tests follow"),
    Requirement("KIT-7", 6, "a tool's logging reaches the client at the right severity"),
    Requirement("KIT-8", 7, "minted tokens carry the principal; inside a box, a socket that only raises"),
    Requirement("KIT-9", 6, "an in-memory client and fixtures for authors' tests"),
)

SANDBOXES = (
    Requirement("SBX-1", 7, "one hardened container per principal and server, network by lane"),
    Requirement("SBX-2", 7, "tightening makes it again, keeps the workspace, never loosens"),
    Requirement("SBX-3", 7, "the egress proxy lets through what is listed, and nothing beside it"),
    Requirement("SBX-4", 7, "the same lanes without Docker; never a silent plain process"),
    Requirement("SBX-5", 7, "time limits hold; boxes left by a crash are reaped"),
    Requirement("SBX-6", 7, "the box itself as tools, under the same policy"),
    Requirement("SBX-7", 7, "isolation is probed from inside before a lane is called ready"),
    Requirement("SBX-8", 7, "packages are fetched once, without data, so that servers start sealed"),
    Requirement("SBX-9", 7, "a sandbox ends with its runtime, also after `kill -9`"),
    Requirement("SBX-10", 7, "no sandbox sees the config, its secrets, or sockets and FIFOs of the host"),
    Requirement("SBX-12", 7, "private lanes have no Unix sockets, and the sealed one no connections"),
    Requirement("SBX-11", 7, "private lanes have inodes of their own"),
)

BRIDGES = (
    Requirement("BRG-1", 8, "five frameworks, and a plain gateway without one"),
    Requirement("BRG-2", 8, "an outcome means the same in each of them"),
    Requirement("BRG-3", 8, "the integration section, with its lifecycle, errors and templates"),
    Requirement("BRG-4", 8, "a client that moves to the isolated instance for good"),
    Requirement("BRG-5", 8, "a missing framework is one line with the install command"),
)

GATEWAY = (
    Requirement("GTW-1", 9, "one endpoint in front of all servers, conforming in both eras"),
    Requirement("GTW-2", 9, "each caller is a principal; its token never travels on"),
    Requirement("GTW-3", 9, "clients and servers of different eras work together"),
    Requirement("GTW-4", 9, "floods and malformed requests cost healthy callers nothing"),
)

SEEING = (
    Requirement("OBS-1", 9, "spans and metrics by the conventions, one span per call"),
    Requirement("OBS-2", 5, "an audit chain that can be verified, written before the act"),
    Requirement("OBS-3", 10, "a dashboard of servers, calls, levels and receipts"),
)

EXPERIENCE = (
    Requirement("UX-1", 10, "a demo without config, key or Docker that shows the ratchet at work"),
    Requirement("UX-2", 10, "the commands, as tables or JSON, with documented exit codes"),
    Requirement("UX-3", 10, "every error: what, where, evidence, likely cause, and the fix"),
    Requirement("UX-4", 1, "help appears at once"),
    Requirement("UX-5", 10, "documentation whose code is run by tests"),
)

SCALE = (
    Requirement("SCL-1", 4, "SQLite or PostgreSQL by one URL, with the same behaviour"),
    Requirement("SCL-2", 9, "a raise at one gateway binds all from the moment it returns"),
    Requirement("SCL-3", 9, "any gateway serves any request; stateful links have one owner"),
)

LIMITS = (
    Requirement("LIM-1", 1, "size and depth are bounded before parsing; only what was parsed goes on"),
    Requirement("LIM-2", 1, "replies match by id; strays and garbage are counted, and end a link at a limit"),
    Requirement("LIM-3", 1, "a hard deadline, whatever trickles in"),
    Requirement("LIM-4", 1, "no schema stalls the loop"),
    Requirement("LIM-5", 1, "no redirect elsewhere, no private address, no shell"),
)

ROWS = (
    *CONFIGURATION,
    *TRANSPORTS,
    *LINKS,
    *CATALOG,
    *POLICY,
    *RATCHET,
    *EXECUTING,
    *RESULTS,
    *TYPES,
    *WORKSPACE,
    *KIT,
    *SANDBOXES,
    *BRIDGES,
    *GATEWAY,
    *SEEING,
    *EXPERIENCE,
    *SCALE,
    *LIMITS,
)
