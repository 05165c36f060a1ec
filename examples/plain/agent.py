"""An agent without a framework: a loop, a model, and the tools that the environment names.

The model is played, so that this runs without a key and without a network.
"""

import os
import sys
from typing import Any

from bascule import RunStopped
from bascule.bridges.plain import MCPToolGateway, ToolInfo, load_for_agent

SERVERS = {
    "AGENT_Helper_MCP_0_CMD": sys.executable,
    "AGENT_Helper_MCP_0_ARGS": "-m,bascule.demo.notes",
    "AGENT_Helper_MCP_0_ALLOW": "add,search",
    "AGENT_Helper_MCP_1_CMD": sys.executable,
    "AGENT_Helper_MCP_1_ARGS": "-m,bascule.demo.clock",
    "AGENT_Helper_MCP_1_ALLOW": "now",
}
"""Usually set where the agent is deployed."""

PLAYED = [
    {"tool": "add", "arguments": {"text": "The bridge is up."}},
    {"tool": "add", "arguments": {"words": "The bridge is down."}},
    {"tool": "search", "arguments": {"word": "bridge"}},
    {"answer": "There is one note on the bridge: it is up."},
]


def model(tools: list[ToolInfo], messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Your model's API goes here: it takes names, descriptions and schemas, and says which tool to call."""
    assert {tool.name for tool in tools} == {"add", "search", "now"}
    return PLAYED[sum(message["role"] == "tool" for message in messages)]


def run(gateway: MCPToolGateway, question: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        said = model(gateway.list_tools(), messages)
        if "answer" in said:
            return said["answer"]
        reply = gateway.call(said["tool"], said["arguments"])
        print(f"{said['tool']}: {'failed' if reply['isError'] else 'ok'}: {reply.text.splitlines()[0]}")
        messages.append({"role": "tool", "content": reply.text})


def main() -> None:
    os.environ.update(SERVERS)
    gateway = load_for_agent("Helper")
    assert gateway is not None, "no AGENT_Helper_MCP_0_CMD is set"
    with gateway:
        try:
            print(run(gateway, "What do we know about the bridge?"))
        except RunStopped as stop:
            # A tool has said that no further call can help.
            print(f"stopped: {stop.message}")
        print(f"level: {gateway.session.sensitivity.name}")


if __name__ == "__main__":
    main()
