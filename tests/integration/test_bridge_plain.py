"""The plain gateway with servers that nobody here wrote, as an environment names them."""

import json
from pathlib import Path

import pytest

from bascule.bridges.plain import MCPToolGateway, load_for_agent
from support.children import children
from support.peers import MEMORY, clock
from support.without_npx import program


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    time, *telling = clock()
    memory, *keeping = program(*MEMORY)
    variables = {
        "0_CMD": time,
        "0_ARGS": ",".join(telling),
        "0_ALLOW": "get_current_time",
        "1_CMD": memory,
        "1_ARGS": ",".join(keeping),
        "1_ENV_JSON": json.dumps({"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}),
        "1_ALLOW": "create_entities,read_graph,search_nodes,delete_entities",
        "1_BLOCK": "delete_*",
        "1_NAME": "memory",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"AGENT_Peers_MCP_{name}", value)


def loaded() -> MCPToolGateway:
    gateway = load_for_agent("Peers")
    assert gateway is not None
    return gateway


@pytest.mark.long
@pytest.mark.usefixtures("described")
def test_real_servers_are_listed_and_called_and_nothing_of_them_is_left():
    before = children()
    with loaded() as gateway:
        listed = {tool.name: tool for tool in gateway.list_tools()}
        time = gateway.call("get_current_time", {"timezone": "UTC"})
        ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
        made = gateway.call("create_entities", {"entities": [ada]})
        found = gateway.call("search_nodes", {"query": "program"})
        wrong = gateway.call("get_current_time", {"timezone": "Nowhere/Land"})
        blocked = gateway.call("delete_entities", {"entityNames": ["Ada"]})

    assert listed.keys() == {"get_current_time", "create_entities", "read_graph", "search_nodes"}
    assert "timezone" in listed["get_current_time"].input_schema["properties"]
    assert not time["isError"]
    assert "UTC" in time.text
    assert not made["isError"]
    assert [entity["name"] for entity in found["structuredContent"]["entities"]] == ["Ada"]
    assert wrong["isError"]
    assert "Nowhere/Land" in wrong.text
    assert blocked["isError"]
    assert children() == before


@pytest.mark.usefixtures("described")
@pytest.mark.long
def test_tools_of_one_name_have_their_prefixes(monkeypatch: pytest.MonkeyPatch):
    time, *telling = clock()
    monkeypatch.setenv("AGENT_Peers_MCP_2_CMD", time)
    monkeypatch.setenv("AGENT_Peers_MCP_2_ARGS", ",".join(telling))
    monkeypatch.setenv("AGENT_Peers_MCP_2_ALLOW", "*")
    with loaded() as gateway:
        names = {tool.name for tool in gateway.list_tools()}

    assert {"mcp0_get_current_time", "mcp2_get_current_time", "convert_time", "read_graph"} <= names
    assert "get_current_time" not in names
