"""Loading of whole config files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.config import (
    RuntimeConfig,
    ServerConfig,
    SharedSecret,
    SseTransport,
    StdioTransport,
    StreamableHttpTransport,
    load_file,
)
from bascule.config.model.transport import NoTransport
from bascule.config.names import NAME_RULE
from bascule.config.secret import reveal_all
from bascule.core.errors import ConfigError
from support.tokens import SECRET

OURS = """\
mcp_servers:
  files:
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem@2026.8.31", /data]
    env: {TOKEN: "${TOKEN}"}
    inherit_env: [LANG]
    tools: {allow: [read_*], block: [read_secret]}
    timeouts: {call: 120}
    required: true
  search:
    url: https://mcp.example.com/mcp
    headers: {Authorization: "Bearer ${SEARCH_KEY:-none}"}
    transport: http
    era: new
    prefix: ""
    render: json

links: {starting: 4}
messages: {max: 16MiB}
store: /var/lib/bascule/state.db
"""

CLAUDE_DESKTOP = {
    "mcpServers": {
        "filesystem": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"],
        },
        "Brave Search": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-brave-search"],
            "env": {"BRAVE_API_KEY": "BSA-hunter2"},
        },
    },
    "globalShortcut": "Ctrl+Space",
}

CURSOR = {
    "mcpServers": {
        "context7": {"url": "https://mcp.context7.com/mcp", "headers": {"CONTEXT7_API_KEY": "${env:C7_KEY}"}},
        "postgres": {
            "type": "stdio",
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "DATABASE_URI", "crystaldba/postgres-mcp"],
            "env": {"DATABASE_URI": "postgresql://me:hunter2@localhost/db"},
            "envFile": "${workspaceFolder}/.env",
            "disabled": False,
        },
        "old": {"url": "https://old.example.com/sse", "type": "sse"},
        "off": {"command": "nothing", "disabled": True},
    }
}

VSCODE = """\
{
  // asked for once, then kept by the editor
  "inputs": [{"type": "promptString", "id": "perplexity-key", "description": "API key", "password": true}],
  "servers": {
    "Perplexity": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "server-perplexity-ask"],
      "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}"},
    },
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/"}, /* remote */
    "fetch": {"command": "uvx", "args": ["mcp-server-fetch"], "dev": {"watch": "src/**"}},
  },
}
"""

GEMINI = {
    "theme": "GitHub",
    "selectedAuthType": "oauth-personal",
    "mcpServers": {
        "pythonTools": {
            "command": "python",
            "args": ["-m", "my_mcp_server", "--port", "8080"],
            "cwd": "./mcp-servers/python",
            "env": {"DATABASE_URL": "$DB_CONNECTION_STRING", "API_KEY": "${EXTERNAL_API_KEY}"},
            "timeout": 15000,
            "trust": False,
            "includeTools": ["safe_tool"],
        },
        "httpServer": {"httpUrl": "http://localhost:3000/mcp", "headers": {"X-Key": "k"}, "timeout": 5000},
    },
}


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return path


def load(folder: Path, name: str, content: Any, **environ: str) -> RuntimeConfig:
    return load_file(write(folder, name, content), environ)


def problems(folder: Path, content: Any, name: str = "bascule.yaml") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, name, content)
    return [problem.removeprefix(f"{folder}/") for problem in caught.value.problems]


def stdio(server: ServerConfig) -> StdioTransport:
    assert isinstance(server.transport, StdioTransport)
    return server.transport


def http(server: ServerConfig) -> StreamableHttpTransport:
    assert isinstance(server.transport, StreamableHttpTransport)
    return server.transport


def test_our_own_file(tmp_path: Path):
    config = load(tmp_path, "bascule.yaml", OURS, TOKEN="hunter2")

    files, search = config.servers["files"], config.servers["search"]
    assert stdio(files).args == ("-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/data")
    assert reveal_all(stdio(files).env) == {"TOKEN": "hunter2"}
    assert (files.allow, files.block, files.required, files.timeouts.call) == (("read_*",), ("read_secret",), True, 120)
    assert files.location.endswith("bascule.yaml:2")
    assert reveal_all(http(search).headers) == {"Authorization": "Bearer none"}
    assert (http(search).choice, search.era, search.tool_prefix, search.render) == ("http", "new", "", "json")
    assert (config.links_starting, config.message_max, config.store) == (4, 16 * 1024**2, "/var/lib/bascule/state.db")
    assert config.path == tmp_path / "bascule.yaml"
    assert config.notes == ()
    assert "hunter2" not in repr(config)


def test_our_own_file_may_be_json(tmp_path: Path):
    config = load(tmp_path, "bascule.json", {"mcp_servers": {"a": {"command": "x"}}, "links": {"starting": 2}})

    assert config.links_starting == 2


def test_a_claude_file(tmp_path: Path):
    config = load(tmp_path, "claude_desktop_config.json", CLAUDE_DESKTOP)

    assert list(config.servers) == ["filesystem", "brave-search"]
    brave = config.servers["brave-search"]
    assert reveal_all(stdio(brave).env) == {"BRAVE_API_KEY": "BSA-hunter2"}
    assert brave.notes == ('"Brave Search" is called brave-search here',)
    assert brave.allow is None
    assert config.notes == ("ignored beside the servers: globalShortcut",)
    assert "hunter2" not in repr(config)


def test_a_cursor_file(tmp_path: Path):
    config = load(tmp_path, ".cursor/mcp.json", CURSOR, C7_KEY="hunter2")

    assert list(config.servers) == ["context7", "postgres", "old"]
    assert reveal_all(http(config.servers["context7"]).headers) == {"CONTEXT7_API_KEY": "hunter2"}
    assert http(config.servers["context7"]).choice == "auto"
    assert config.servers["postgres"].notes == ("ignored envFile: not known here",)
    assert config.notes == ('"off" is left out: the file disables it',)
    old = config.servers["old"]
    assert isinstance(old.transport, SseTransport)
    assert old.unavailable_reason is None


def test_a_vs_code_file_with_comments_and_trailing_commas(tmp_path: Path):
    config = load(tmp_path, ".vscode/mcp.json", VSCODE)

    assert list(config.servers) == ["perplexity", "github", "fetch"]
    asked = config.servers["perplexity"].unavailable_reason
    assert asked is not None
    assert "servers.Perplexity.env.PERPLEXITY_API_KEY" in str(asked)
    assert "input:perplexity-key" in str(asked)
    assert http(config.servers["github"]).choice == "http"
    assert config.servers["fetch"].notes == ("ignored dev: not known here",)
    assert config.notes == ()


def test_a_gemini_file(tmp_path: Path):
    config = load(tmp_path, "settings.json", GEMINI, EXTERNAL_API_KEY="hunter2")

    tools = config.servers["pythontools"]
    assert tools.timeouts.call == 15
    assert tools.allow == ("safe_tool",)
    assert reveal_all(stdio(tools).env) == {"DATABASE_URL": "$DB_CONNECTION_STRING", "API_KEY": "hunter2"}
    assert stdio(tools).cwd == "./mcp-servers/python"
    assert http(config.servers["httpserver"]).url == "http://localhost:3000/mcp"
    assert config.notes == ("ignored beside the servers: theme, selectedAuthType",)


def test_servers_at_the_root(tmp_path: Path):
    config = load(
        tmp_path,
        "servers.json",
        {"time": {"command": "uvx", "args": ["mcp-server-time"]}, "b": {"url": "https://b.test"}},
    )

    assert list(config.servers) == ["time", "b"]


def test_our_keys_in_a_foreign_file(tmp_path: Path):
    content = {
        "mcpServers": {"a": {"command": "x", "x-bascule": {"prefix": "p", "required": True, "tools": {"allow": []}}}},
        "x-bascule": {"links": {"starting": 2}, "store": "${DB}"},
    }
    config = load(tmp_path, ".mcp.json", content, DB="s.db")

    assert (config.servers["a"].prefix, config.servers["a"].required, config.servers["a"].allow) == ("p", True, ())
    assert (config.links_starting, config.store) == (2, "s.db")
    assert config.notes == ()


def test_problems_under_our_keys_in_a_foreign_file_are_errors(tmp_path: Path):
    content = {"mcpServers": {"a": {"command": "x", "x-bascule": {"era": "neww"}}}, "x-bascule": {"linkz": {}}}

    assert problems(tmp_path, content, ".mcp.json") == [
        '.mcp.json: x-bascule.linkz: unknown key; did you mean "links"?',
        '.mcp.json: mcpServers.a.x-bascule.era: must be one of auto, old, new; did you mean "new"?',
    ]


@pytest.mark.parametrize(
    ("name", "content"), [(".mcp.json", CLAUDE_DESKTOP), ("mcp.json", VSCODE), ("bascule.yaml", OURS)]
)
def test_a_file_is_never_written(tmp_path: Path, name: str, content: Any):
    path = write(tmp_path, name, content)
    before = path.read_bytes()
    path.chmod(0o444)
    load_file(path, {})

    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_an_unset_variable_refuses_that_server_only(tmp_path: Path):
    config = load(tmp_path, "bascule.yaml", OURS)

    reason = config.servers["files"].unavailable_reason
    assert reason is not None
    assert "bascule.yaml:5: mcp_servers.files.env.TOKEN: the variable TOKEN is not set" in str(reason)
    assert "TOKEN" in reason.fix
    assert config.servers["files"].transport == NoTransport("stdio")
    assert config.servers["files"].required is True
    assert config.servers["search"].unavailable_reason is None


def test_an_unset_variable_beside_the_servers_is_a_problem_of_the_file(tmp_path: Path):
    (told,) = problems(tmp_path, "mcp_servers: {}\nstore: ${NOPE}\n")

    assert told.startswith("bascule.yaml:2: store: the variable NOPE is not set")


def test_all_problems_of_a_file_come_in_one_error_with_line_path_and_advice(tmp_path: Path):
    content = """\
mcp_servers:
  files:
    comand: npx
    args: [-y, 5]
    cwd: /a
    cwd: /b
  My Files: {command: npx}
  web:
    url: wss://a.test/mcp#top
    timeouts: {cal: 3, call: -1}
    sandbox: none
  old: {url: "ws://a.test", transport: sse}
  leak:
    command: npx
    args: [--token, abc123]
links: {max: -3, starting: 0}
messages: {max: 8MB}
store: postgresql://me:hunter2@db
gatewya: {}
"""
    advice = "every user of the machine can read it there; give it in `env`, or in `headers` of a remote server"

    assert problems(tmp_path, content) == [
        "bascule.yaml:2: mcp_servers.files: needs a `command` to start or a `url` to reach",
        'bascule.yaml:3: mcp_servers.files.comand: unknown key; did you mean "command"?',
        "bascule.yaml:4: mcp_servers.files.args[1]: must be text, not a number; put it in quotes",
        "bascule.yaml:6: mcp_servers.files.cwd: stands twice, first on line 5; keep one of them",
        f'bascule.yaml:7: mcp_servers."My Files": a server\'s name must be {NAME_RULE}; "my-files" would do',
        "bascule.yaml:9: mcp_servers.web.url: has a fragment (#…), which a WebSocket address cannot have; remove it",
        'bascule.yaml:10: mcp_servers.web.timeouts.cal: unknown key; did you mean "call"?',
        "bascule.yaml:10: mcp_servers.web.timeouts.call: must be a number of seconds above 0",
        "bascule.yaml:11: mcp_servers.web.sandbox: goes with `command`, but this server has a `url`; remove it",
        "bascule.yaml:12: mcp_servers.old.transport: says sse, but the address begins with ws://; for sse it is https:// or http://",
        f"bascule.yaml:15: mcp_servers.leak.args[1]: looks like a credential (it is the value of --token); {advice}",
        "bascule.yaml:16: links.max: must be a whole number above 0",
        "bascule.yaml:16: links.starting: must be a whole number above 0",
        "bascule.yaml:17: messages.max: must be a size such as 8MiB: a whole number, with B, KiB, MiB or GiB",
        "bascule.yaml:18: store: is no address of a database; write postgresql://user@host/database, and in a password %40 for @, %2F for /",
        'bascule.yaml:19: gatewya: unknown key; did you mean "gateway"?',
    ]


def test_wrong_types_and_doubled_keys_in_json_are_told_with_their_paths(tmp_path: Path):
    content = '{"mcpServers": {"a": {"command": 5, "args": "x", "env": {"A": 1}}, "b": {"url": "https://b.test", "url": "x"}}}'

    assert problems(tmp_path, content, ".mcp.json") == [
        ".mcp.json: mcpServers.b.url: stands twice; keep one of them",
        ".mcp.json: mcpServers.a.command: must be text, not a number; put it in quotes",
        ".mcp.json: mcpServers.a.args: must be a list of texts, not text; write it between [ and ]",
        ".mcp.json: mcpServers.a.env.A: must be text, not a number; put it in quotes",
    ]


def test_a_name_of_another_form_is_a_problem_even_if_it_is_the_only_one(tmp_path: Path):
    assert len(problems(tmp_path, "mcp_servers: {My Files: {command: npx}}")) == 1


def test_a_credential_in_a_foreign_file_refuses_that_server_only(tmp_path: Path):
    content = {"mcpServers": {"a": {"command": "npx", "args": ["x", "--api-key", "hunter2"]}, "b": {"command": "npx"}}}
    config = load(tmp_path, ".mcp.json", content)

    reason = config.servers["a"].unavailable_reason
    assert reason is not None
    assert "mcpServers.a.args[2]" in str(reason)
    assert "`env`" in str(reason)
    assert "hunter2" not in repr(config) + str(reason) + reason.evidence
    assert config.servers["b"].unavailable_reason is None


def test_a_variable_found_in_neither_place_is_unset_and_the_environment_wins_over_the_file_beside(tmp_path: Path):
    write(tmp_path, ".env", "A=from-file\nB=from-file\n")
    config = load(
        tmp_path, "bascule.yaml", 'mcp_servers: {a: {command: x, args: ["${A}", "${B}", "${C:-c}"]}}', B="from-environ"
    )

    assert stdio(config.servers["a"]).args == ("from-file", "from-environ", "c")


def test_the_file_beside_reaches_no_child_by_itself(tmp_path: Path):
    write(tmp_path, ".env", "A=hunter2\n")
    config = load(tmp_path, "bascule.yaml", 'mcp_servers: {a: {command: x, inherit_env: ["*"]}}')

    assert dict(stdio(config.servers["a"]).env) == {}
    assert "hunter2" not in repr(config)


def test_trouble_with_the_file_beside_is_a_note(tmp_path: Path):
    write(tmp_path, ".env", "nonsense\n")

    assert len(load(tmp_path, "bascule.yaml", "mcp_servers: {}").notes) == 1


@pytest.mark.parametrize(
    "content", ["", "# nothing\n", "{}", "[]", "text", "servers_of_mine: {}", "mcp_server: {a: {command: x}}"]
)
def test_a_file_without_servers_says_how_to_write_some(tmp_path: Path, content: str):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "bascule.yaml", content)
    assert "mcp_servers" in caught.value.fix


def test_a_near_miss_of_the_first_key_is_pointed_out(tmp_path: Path):
    with pytest.raises(ConfigError, match='did you mean "mcp_servers"'):
        load(tmp_path, "bascule.yaml", "mcp_server: {a: {args: []}}")


def test_no_servers_at_all_are_allowed(tmp_path: Path):
    assert dict(load(tmp_path, "bascule.yaml", "mcp_servers:\n").servers) == {}


def test_a_missing_file_is_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="does not exist"):
        load_file(str(tmp_path / "bascule.yaml"))


def test_the_environment_of_the_process_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("A_VARIABLE", "x")
    path = write(tmp_path, "bascule.yaml", 'mcp_servers: {a: {command: "${A_VARIABLE}"}}')

    assert stdio(load_file(path).servers["a"]).command == "x"


def test_loading_json_imports_no_yaml(tmp_path: Path):
    path = write(tmp_path, ".mcp.json", CLAUDE_DESKTOP)
    script = f"import sys, bascule.config as c; c.load_file({str(path)!r}); print({{'yaml', 'msgspec', 'mcp'}} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert ended.stdout.strip() == "set()"


TOKEN_KEY = {"algorithm": "HS256", "secret": "${KEY}"}


def load_gateway(folder: Path, gateway: dict[str, Any]) -> RuntimeConfig:
    path = folder / "bascule.yaml"
    path.write_text(yaml.safe_dump({"mcp_servers": {}, "gateway": gateway}))
    return load_file(path, {"KEY": SECRET})


def test_a_gateway_is_read_whole(tmp_path: Path):
    auth = {
        "keys": [TOKEN_KEY],
        "issuer": "https://id",
        "audience": "tools",
        "claims": {"user": "email", "session": "sid"},
    }
    settings = load_gateway(tmp_path, {"host": "10.0.0.5", "port": 9000, "auth": auth, "workers": 3}).gateway
    assert (settings.host, settings.port, settings.workers) == ("10.0.0.5", 9000, 3)
    assert settings.auth.keys == (SharedSecret("HS256", SECRET),)
    assert (settings.auth.issuer, settings.auth.audience) == ("https://id", "tools")
    assert (settings.auth.claims.user, settings.auth.claims.session) == ("email", "sid")


def test_a_gateway_without_keys_accepts_no_token(tmp_path: Path):
    assert load_gateway(tmp_path, {}).gateway.auth.keys == ()


@pytest.mark.parametrize(
    ("gateway", "told"),
    [
        ({"port": 0}, "gateway.port: must be"),
        ({"host": "a b"}, "gateway.host: must be"),
        ({"auth": {"keys": [{"secret": "short", "algorithm": "HS256"}]}}, "gateway.auth.keys[0].secret"),
        (
            {"auth": {"keys": [{"public_key": "gone.pem", "algorithm": "ES256"}], "issuer": "a", "audience": "b"}},
            "cannot be read",
        ),
        ({"auth": {"keys": [TOKEN_KEY]}}, "gateway.auth.issuer"),
        (
            {"auth": {"keys": [TOKEN_KEY], "issuer": "a", "audience": "b", "claims": {"user": ""}}},
            "gateway.auth.claims.user",
        ),
        ({"hots": "a"}, "hots"),
        ({"workers": 1000}, "workers: must be a whole number from 1 to 256"),
    ],
)
def test_what_is_wrong_with_a_gateway_is_told_with_its_place(tmp_path: Path, gateway: dict[str, Any], told: str):
    with pytest.raises(ConfigError) as caught:
        load_gateway(tmp_path, gateway)
    assert told in "\n".join(caught.value.problems)
