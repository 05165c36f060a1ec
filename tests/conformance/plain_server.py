"""The same server without our kit, to tell what is FastMCP's own."""

from typing import Any

from fastmcp import FastMCP
from furnished import furnish, serve

if __name__ == "__main__":
    server: FastMCP[Any] = FastMCP("plain", dereference_schemas=False)
    furnish(server)
    serve(server, host_origin_protection=True)
