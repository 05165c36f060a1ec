"""The server of our kit that the official suite judges. It says on its first line where it is, and is served until it is
told to end."""

import tempfile
from pathlib import Path

from furnished import furnish, serve

from bascule.kit import create_mcp_server
from bascule.kit.request_context import Home

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = Home("conformance", folder=Path(folder))
        server = create_mcp_server("conformance", development="ada", home=home, dereference_schemas=False)
        furnish(server)
        serve(server)
