"""`bascule doctor`: one module of checks per area, and the report."""
