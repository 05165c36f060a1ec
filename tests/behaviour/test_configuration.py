"""What was asked: files of every shape, variables, mistakes, secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.config import (
    ServerConfig,
    StdioTransport,
    StreamableHttpTransport,
    Timeouts,
    load_agent_mcp_configs,
    load_file,
)
from bascule.core.errors import ConfigError
from bascule.core.outcome import FailureKind
from support.command import bascule
from support.contract import answer_over_http
from support.http_servers import Asked, http_reply, raw_server
from support.runtime import Events, bad, good
from support.scenarios import entry, from_file, write_mcp_json, write_yaml

OURS = """
mcp_servers:
  files:
    command: npx
    args: [-y, files-server@1.2, /data]
    env: {TOKEN: abc}
    required: true
    prefix: f
    tools: {allow: ["read_*"], block: [read_secret]}
    timeouts: {call: 5}
"""
THEIRS: dict[str, Any] = {
    "command": "npx",
    "args": ["-y", "files-server@1.2", "/data"],
    "env": {"TOKEN": "abc"},
    "x-bascule": {
        "required": True,
        "prefix": "f",
        "tools": {"allow": ["read_*"], "block": ["read_secret"]},
        "timeouts": {"call": 5},
    },
}
BY_HAND = ServerConfig(
    name="files",
    transport=StdioTransport(command="npx", args=("-y", "files-server@1.2", "/data"), env={"TOKEN": "abc"}),
    prefix="f",
    allow=("read_*",),
    block=("read_secret",),
    timeouts=Timeouts(call=5),
    required=True,
)
SHAPES = {
    ".mcp.json": '{"mcpServers": {"files": %s}}',
    "claude_desktop_config.json": '{"globalShortcut": "", "mcpServers": {"files": %s}}',
    ".vscode/mcp.json": '// for the editor\n{"inputs": [], /* the servers */ "servers": {"files": %s,},}',
    "bare.json": '{"files": %s}',
}
"""Files of other programs, by the name they go by."""

SECRET = "hunter2-hunter2-hunter2"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.requirement("CFG-1")
def test_every_loader_gives_the_same_model(tmp_path: Path):
    loaded = [load_file(written(tmp_path, "bascule.yaml", OURS))]
    loaded += [load_file(written(tmp_path, name, text % json.dumps(THEIRS))) for name, text in SHAPES.items()]

    assert [config.servers["files"] for config in loaded] == [BY_HAND] * 5


@pytest.mark.requirement("CFG-1")
def test_the_environment_gives_the_same_model():
    environ = {
        "AGENT_Dev_MCP_0_CMD": "npx",
        "AGENT_Dev_MCP_0_ARGS": "-y,files-server@1.2,/data",
        "AGENT_Dev_MCP_0_ENV_JSON": '{"TOKEN": "abc"}',
        "AGENT_Dev_MCP_0_ALLOW": "read_*",
        "AGENT_Dev_MCP_0_BLOCK": "read_secret",
        "AGENT_Dev_MCP_0_NAME": "files",
    }
    (server,) = load_agent_mcp_configs("Dev", environ)

    assert (server.name, server.transport) == (BY_HAND.name, BY_HAND.transport)
    assert (server.allow, server.block) == (BY_HAND.allow, BY_HAND.block)


@pytest.mark.requirement("CFG-1")
@pytest.mark.parametrize(
    "wrong",
    [{"name": "Files"}, {"prefix": "a b"}, {"allow": "read_*"}, {"render": "xml"}, {"transport": "npx"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_model_made_by_hand_is_held_to_the_same_rules(wrong: dict[str, Any]):
    fields: dict[str, Any] = {"name": "files", "transport": BY_HAND.transport, **wrong}
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ServerConfig(**fields)


@pytest.mark.requirement("CFG-2")
@pytest.mark.parametrize("name", ["bascule.yaml", *SHAPES])
async def test_a_file_is_used_as_it_is_and_never_rewritten(tmp_path: Path, name: str):
    described = json.dumps(entry("echo"))
    text = SHAPES[name] % described if name in SHAPES else f"mcp_servers:\n  files: {described}\n"
    path = written(tmp_path, name, text)
    before = path.stat()

    async with from_file(path) as session:
        assert good(await session.call("files_echo", {"message": "hi"})).text == "hi"
    assert path.read_text() == text
    assert path.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.requirement("CFG-2")
async def test_our_extras_stand_under_their_own_key_in_a_file_of_another_program(tmp_path: Path):
    path = write_mcp_json(tmp_path, {"files": entry("echo", **{"x-bascule": {"prefix": "mine"}})})

    async with from_file(path) as session:
        assert [spec.name for spec in await session.tools()] == ["mine_echo"]


@pytest.mark.requirement("CFG-2")
async def test_what_other_programs_add_is_noted_and_their_names_are_folded(tmp_path: Path):
    servers = {
        "Figma MCP": entry("echo", alwaysAllow=["echo"], timeout=5000),
        "switched off": entry("echo", disabled=True),
    }
    config = load_file(write_mcp_json(tmp_path, servers))

    assert [*config.servers] == ["figma-mcp"]
    assert config.servers["figma-mcp"].timeouts.call == 5
    notes = " · ".join((*config.notes, *config.servers["figma-mcp"].notes))
    assert '"Figma MCP" is called figma-mcp' in notes
    assert "alwaysAllow" in notes
    assert '"switched off" is left out' in notes


@pytest.mark.requirement("CFG-3")
async def test_an_unset_variable_refuses_that_server_only(tmp_path: Path):
    path = write_yaml(tmp_path, {"good": entry("echo"), "bad": entry("echo", env={"TOKEN": "${SURELY_NOT_SET}"})})

    async with from_file(path) as session:
        assert [spec.name for spec in await session.tools()] == ["good_echo"]
        told = bad(await session.call("bad_echo", {"message": "hi"}), FailureKind.UNAVAILABLE)
        works = good(await session.call("good_echo", {"message": "hi"}))
    assert works.text == "hi"
    for part in (str(path), "mcp_servers.bad.env.TOKEN", "SURELY_NOT_SET"):
        assert part in told.message
    assert "set SURELY_NOT_SET" in told.fix


@pytest.mark.requirement("CFG-3")
async def test_variables_are_put_in_once_in_lists_and_maps_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SET", "value")
    monkeypatch.setenv("NAMES_ANOTHER", "${SET}")
    monkeypatch.setenv("EMPTY", "")
    args = ["${SET}", "a-${env:SET}-b", "${UNSET_HERE:-by default}", "${EMPTY:-not empty}", "$$SET", "$${SET}", "$SET"]
    path = write_yaml(tmp_path, {"me": entry("mirror", *args, env={"A": "${SET}", "B": "${NAMES_ANOTHER}"})})

    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured
    assert seen["argv"] == ["value", "a-value-b", "by default", "not empty", "$SET", "${SET}", "$SET"]
    assert (seen["env"]["A"], seen["env"]["B"]) == ("value", "${SET}")


@pytest.mark.requirement("CFG-3")
async def test_a_dotenv_file_fills_variables_and_reaches_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BOTH", "from the environment")
    (tmp_path / ".env").write_text("ONLY_THERE=from the file\nBOTH=from the file\n")
    path = write_yaml(tmp_path, {"me": entry("mirror", "${ONLY_THERE}", "${BOTH}")})

    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured
    assert seen["argv"] == ["from the file", "from the environment"]
    assert not {"ONLY_THERE", "BOTH"} & seen["env"].keys()


@pytest.mark.requirement("CFG-4", "POL-1")
async def test_numbered_variables_describe_the_servers_of_one_agent(monkeypatch: pytest.MonkeyPatch):
    described = entry("echo")
    for index, allow in enumerate(["echo", ""]):
        monkeypatch.setenv(f"AGENT_Dev_MCP_{index}_CMD", described["command"])
        monkeypatch.setenv(f"AGENT_Dev_MCP_{index}_ARGS", json.dumps(described["args"]))
        monkeypatch.setenv(f"AGENT_Dev_MCP_{index}_ALLOW", allow)

    async with Runtime.from_env("Dev") as runtime:
        session = runtime.session("alice", "s-1")
        assert [spec.name for spec in await session.tools()] == ["mcp0_echo"]
        assert [(report.name, report.state) for report in session.servers()] == [("mcp0", "ready"), ("mcp1", "ready")]


MISTAKES = """
mcp_servers:
  files:
    comand: npx
    timeouts: {call: soon}
    tools: {alow: ["*"]}
  Files:
    command: npx
  other:
    command: npx
    args: -y
    prefix: a
    prefix: b
mesages: {max: 8MiB}
"""


@pytest.mark.requirement("CFG-5")
def test_one_error_lists_every_problem_with_its_path_and_a_suggestion(tmp_path: Path):
    path = written(tmp_path, "bascule.yaml", MISTAKES.replace("    prefix: b\n", ""))
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)

    told = "\n".join(caught.value.problems)
    for part in (
        f'{path}:4: mcp_servers.files.comand: unknown key; did you mean "command"?',
        "mcp_servers.files.timeouts.call: must be a number of seconds above 0",
        'mcp_servers.files.tools.alow: unknown key; did you mean "allow"?',
        "mcp_servers.Files: a server's name must be",
        "mcp_servers.other.args: must be a list of texts",
        'mesages: unknown key; did you mean "messages"?',
    ):
        assert part in told


@pytest.mark.requirement("CFG-5")
async def test_the_command_tells_all_of_it_and_starts_nothing(tmp_path: Path):
    written(tmp_path, "bascule.yaml", MISTAKES)
    ran = await bascule(tmp_path, "list")

    assert ran.code == 2
    for part in ("comand", "timeouts.call", "alow", "mcp_servers.Files", "other.args", "prefix", "mesages"):
        assert part in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.requirement("CFG-5")
def test_a_key_that_stands_twice_is_a_problem_in_json_too(tmp_path: Path):
    path = written(
        tmp_path, ".mcp.json", '{"mcpServers": {"a": {"command": "x", "command": "y"}, "a": {"command": "z"}}}'
    )
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)

    assert caught.value.problems == (
        f"{path}: mcpServers.a.command: stands twice; keep one of them",
        f"{path}: mcpServers.a: stands twice; keep one of them",
    )


@pytest.mark.requirement("CFG-5")
def test_a_token_of_the_dashboard_that_can_be_guessed_is_refused_and_not_repeated(tmp_path: Path):
    path = write_yaml(tmp_path, {"files": {"url": "https://a.test/mcp"}}, dashboard={"token": "hunter2"})
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)

    assert "at least 16 characters" in caught.value.problems[0]
    assert "hunter2" not in str(caught.value.problems)


@pytest.mark.requirement("CFG-6")
async def test_a_secret_of_a_failing_server_shows_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("THE_TOKEN", SECRET)
    servers = {"leaky": entry("failing", "1", f"cannot log in with {SECRET}", env={"TOKEN": "${THE_TOKEN}"})}
    events = Events()

    async with from_file(write_yaml(tmp_path, servers), events) as session:
        outcome = bad(await session.call("leaky_any"), FailureKind.CONNECTION_ERROR)
        reports = session.servers()
    assert "cannot log in with ***" in outcome.evidence
    assert SECRET not in repr((outcome, events, reports))


@pytest.mark.requirement("CFG-6")
@pytest.mark.parametrize("command", ["list", "doctor", "inspect leaky", "call leaky_any"])
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
async def test_no_command_prints_a_secret(tmp_path: Path, command: str, form: tuple[str, ...]):
    servers = {"leaky": entry("failing", "1", f"cannot log in with {SECRET}", env={"TOKEN": "${THE_TOKEN}"})}
    write_yaml(tmp_path, servers)
    ran = await bascule(tmp_path, *command.split(), *form, env={"THE_TOKEN": SECRET})

    assert ran.code in {0, 3}, ran
    assert SECRET not in ran.out + ran.err


@pytest.mark.requirement("CFG-6")
def test_a_config_prints_without_its_secrets(tmp_path: Path):
    servers = {
        "local": {"command": "npx", "env": {"TOKEN": SECRET}},
        "remote": {"url": "https://example.test/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
    }
    runtime = Runtime.from_file(write_yaml(tmp_path, servers))

    assert SECRET not in f"{runtime.config} {runtime.config!r} {runtime.config.servers['remote'].transport}"


@pytest.mark.requirement("CFG-6")
async def test_a_header_reaches_its_server_and_nothing_else(tmp_path: Path):
    async def refuse(asked: Asked, writer: Any) -> None:
        writer.write(http_reply(b"go away", status="401 Unauthorized", WWW_Authenticate="Bearer"))

    events = Events()
    async with raw_server(refuse) as server:
        described = {"url": server.url, "headers": {"Authorization": f"Bearer {SECRET}"}}
        async with from_file(write_yaml(tmp_path, {"remote": described}), events) as session:
            reports = await session.connect()
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert reports[0].state == "needs-auth"
    assert SECRET not in repr((reports, events))


@pytest.mark.requirement("CFG-6")
@pytest.mark.parametrize(
    "args",
    [["--token", "abcd1234efgh"], ["ghp_0123456789abcdefghij"], ["--header", "Authorization: Bearer abcdefgh12345678"]],
    ids=["option", "shape", "header"],
)
def test_a_credential_in_args_is_refused_with_the_advice_to_use_env(tmp_path: Path, args: list[str]):
    path = write_yaml(tmp_path, {"remote": {"command": "npx", "args": args}})
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)

    assert "mcp_servers.remote.args" in caught.value.problems[0]
    assert "`env`" in caught.value.problems[0]
    assert args[-1] not in repr(caught.value.problems)


@pytest.mark.requirement("CFG-6")
async def test_in_a_file_of_another_program_a_credential_in_args_refuses_that_server_only(tmp_path: Path):
    path = write_mcp_json(tmp_path, {"leaky": entry("echo", "--token", "abcd1234efgh"), "good": entry("echo")})
    async with from_file(path) as session:
        assert [spec.name for spec in await session.tools()] == ["good_echo"]
        told = bad(await session.call("leaky_echo", {"message": "hi"}), FailureKind.UNAVAILABLE)

    assert "mcpServers.leaky.args" in told.message
    assert "`env`" in told.message
    assert "abcd1234efgh" not in repr(told)


@pytest.mark.requirement("CFG-6")
def test_a_transport_made_by_hand_takes_no_credential_in_args_either():
    with pytest.raises(ConfigError, match="`env`"):
        StdioTransport(command="npx", args=("--api-key", "abcd1234efgh"))
    assert SECRET not in repr(StreamableHttpTransport("https://example.test/mcp", {"X-Key": SECRET}))


ECHOES = {
    "noise": {"tools/call": [{"forever": f"login with {SECRET}\n"}]},
    "refusal": {"tools/call": [{"error": {"code": -32000, "message": f"bad token {SECRET}"}}]},
    "listing": {"tools/list": [{"error": {"code": -32000, "message": f"bad token {SECRET}"}}]},
}


@pytest.mark.requirement("CFG-6")
@pytest.mark.parametrize("name", ECHOES)
async def test_a_secret_that_a_server_repeats_shows_in_no_error(tmp_path: Path, name: str):
    (tmp_path / "scenario").write_text(json.dumps(ECHOES[name]))
    described = entry("scripted", tmp_path / "scenario", tmp_path / "log", env={"TOKEN": SECRET})
    events = Events()
    async with from_file(write_yaml(tmp_path, {"work": described}), events) as session:
        outcome = await session.call("work_act")
    assert SECRET not in repr((outcome, events))


@pytest.mark.requirement("CFG-6")
async def test_a_header_that_a_server_repeats_shows_in_no_error(tmp_path: Path):
    async def answer(asked: Asked, writer: Any) -> None:
        if asked.message["method"] == "tools/call":
            writer.write(http_reply(asked.headers["authorization"].encode(), "500 Oops", "text/plain"))
        else:
            await answer_over_http(asked, writer)

    async with raw_server(answer) as server:
        described = {"url": server.url, "headers": {"Authorization": f"Bearer {SECRET}"}}
        async with from_file(write_yaml(tmp_path, {"work": described})) as session:
            outcome = await session.call("work_act", {})
    assert SECRET not in repr(outcome)
