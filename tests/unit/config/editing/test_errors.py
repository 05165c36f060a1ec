"""Why a server cannot be put into a file."""

from bascule.config.editing.errors import Unsafe


def test_it_says_why():
    assert str(Unsafe("its mcp_servers is an alias")) == "its mcp_servers is an alias"
