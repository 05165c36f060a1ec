"""The server. Started by a runtime it speaks over stdio; `bascule run records-http` serves it over HTTP."""

from bascule.kit import create_mcp_server

from tools import TOOLS

mcp = create_mcp_server("records", instructions="Orders, accounts, and the files of the workspace.")
for tool in TOOLS:
    mcp.tool(tool)

if __name__ == "__main__":
    mcp.run()
