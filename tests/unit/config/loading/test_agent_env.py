"""Servers of one agent from its environment."""

import pytest

from bascule.config.loading.agent_env import load_agent_mcp_configs
from bascule.config.model.transport import StdioTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import ConfigError, UsageError

PREFIX = "AGENT_DevAgent_MCP_"


def load(**fields: str):
    return load_agent_mcp_configs(
        "DevAgent", {f"{PREFIX}{name.removeprefix('n')}": text for name, text in fields.items()}
    )


def problems(**fields: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(**fields)
    return caught.value.problems


def test_an_agent_without_variables_has_no_servers():
    assert load_agent_mcp_configs("DevAgent", {"AGENT_Other_MCP_0_CMD": "npx", "PATH": "/bin"}) == ()


def test_every_field_of_a_server_is_read():
    (server,) = load(
        n0_CMD="npx",
        n0_ARGS="-y, @modelcontextprotocol/server-memory",
        n0_CWD="/srv",
        n0_ENV_JSON='{"TOKEN": "hunter2"}',
        n0_ALLOW="echo, search_*",
        n0_BLOCK="search_all",
        n0_INIT_TIMEOUT_SECONDS="7.5",
        n0_NAME="memory",
    )

    assert server.name == "memory"
    assert isinstance(server.transport, StdioTransport)
    assert server.transport.command == "npx"
    assert server.transport.args == ("-y", "@modelcontextprotocol/server-memory")
    assert server.transport.cwd == "/srv"
    assert reveal_all(server.transport.env) == {"TOKEN": "hunter2"}
    assert (server.allow, server.block) == (("echo", "search_*"), ("search_all",))
    assert server.timeouts.connect == 7.5
    assert server.location == "AGENT_DevAgent_MCP_0_CMD"
    assert "hunter2" not in repr(server)


def test_a_server_with_a_command_alone_exposes_nothing():
    (server,) = load(n0_CMD="npx")

    assert server.allow == ()
    assert server.name == "mcp0"
    assert isinstance(server.transport, StdioTransport)
    assert (server.transport.args, server.transport.cwd, dict(server.transport.env)) == ((), None, {})
    assert server.timeouts.connect == 60


@pytest.mark.parametrize("allow", ["", " ", ",", " , "])
def test_an_allow_list_with_nothing_in_it_exposes_nothing(allow: str):
    assert load(n0_CMD="npx", n0_ALLOW=allow)[0].allow == ()


def test_servers_come_in_the_order_of_their_numbers():
    fields = {f"n{index}_CMD": f"c{index}" for index in range(12)}

    assert [server.name for server in load(**fields)] == [f"mcp{index}" for index in range(12)]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("a,,b,", ("a", "b")),
        ('["a,b", "", "c"]', ("a,b", "", "c")),
        (' ["a"]', ("a",)),
        ("[]", ()),
    ],
)
def test_arguments_are_split_at_commas_or_read_as_json(text: str, args: tuple[str, ...]):
    (server,) = load(n0_CMD="npx", n0_ARGS=text)

    assert isinstance(server.transport, StdioTransport)
    assert server.transport.args == args


def test_a_gap_is_an_error_that_names_it():
    assert problems(n0_CMD="a", n2_CMD="b", n5_CMD="c") == (
        f"{PREFIX}1_CMD: not set, though higher numbers are; count from 0 without a gap",
    )
    assert problems(n1_CMD="a")[0].startswith(f"{PREFIX}0_CMD")


def test_a_server_without_a_command_is_an_error_that_names_the_variable():
    assert problems(n0_ARGS="x")[0].startswith(f"{PREFIX}0_CMD: must name a program")
    assert problems(n0_CMD="")[0].startswith(f"{PREFIX}0_CMD")


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "5", '"x"', "null", '{"A": 5}', '{"A": null}', '{"A": {}}', '{"A": "1", "A": "2"}', "[" * 100_000],
)
def test_an_environment_that_is_no_object_of_texts_is_an_error_that_names_the_variable(text: str):
    (problem,) = problems(n0_CMD="npx", n0_ENV_JSON=text)

    assert problem.startswith(f"{PREFIX}0_ENV_JSON: must be a JSON object of texts")


def test_a_bad_environment_is_not_repeated():
    assert "hunter2" not in problems(n0_CMD="npx", n0_ENV_JSON='{"A": "hunter2", "B": 5}')[0]


@pytest.mark.parametrize("text", ["[", '["a", 5]', '[["a"]]'])
def test_arguments_that_are_no_array_of_texts_are_an_error(text: str):
    (problem,) = problems(n0_CMD="npx", n0_ARGS=text)

    assert problem.startswith(f"{PREFIX}0_ARGS: must be a JSON array of texts")


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_a_timeout_must_be_a_time(text: str):
    assert problems(n0_CMD="npx", n0_INIT_TIMEOUT_SECONDS=text)[0].startswith(f"{PREFIX}0_INIT_TIMEOUT_SECONDS: ")


def test_empty_fields_are_the_same_as_none():
    assert load(n0_CMD="npx", n0_CWD="", n0_NAME="", n0_ENV_JSON="", n0_INIT_TIMEOUT_SECONDS="") == load(n0_CMD="npx")


def test_a_name_must_be_ours_and_taken_once():
    assert problems(n0_CMD="npx", n0_NAME="My Server")[0].startswith(f"{PREFIX}0_NAME: ")
    assert problems(n0_CMD="npx", n0_NAME="mcp1", n1_CMD="npx")[0].startswith(f"{PREFIX}1_NAME: ")


@pytest.mark.parametrize(
    ("name", "hint"), [("0_COMMAND", "CMD"), ("0_ALOW", "ALLOW"), ("X_CMD", ""), ("01_CMD", ""), ("CMD", "")]
)
def test_an_unknown_variable_is_an_error(name: str, hint: str):
    (problem,) = problems(n0_CMD="npx", **{f"n{name}": "x"})

    assert problem.startswith(f"{PREFIX}{name}: unknown")
    if hint == "ALLOW":
        assert 'did you mean "ALLOW"?' in problem


def test_a_credential_among_the_arguments_is_refused():
    (problem,) = problems(n0_CMD="npx", n0_ARGS="-y,--api-key=abc123")

    assert problem.startswith(f"{PREFIX}0_ARGS: 1: looks like a credential")
    assert "abc123" not in problem


def test_all_that_is_wrong_is_told_at_once():
    assert len(problems(n0_CMD="npx", n0_ENV_JSON="5", n1_CMD="", n1_ARGS="[", n3_CMD="x")) == 4


@pytest.mark.parametrize("agent", ["", "a=b", "a\nb"])
def test_an_agent_must_have_a_name(agent: str):
    with pytest.raises(UsageError):
        load_agent_mcp_configs(agent, {})


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(f"{PREFIX}0_CMD", "npx")

    assert len(load_agent_mcp_configs("DevAgent")) == 1
