"""Dashboard of a cluster: peers are queried, their views are merged."""
