"""How servers are written: FastMCP with identity, permissions and result limits. It cannot see the client side."""
