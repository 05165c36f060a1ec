"""One node of a cluster: its internal endpoint and how it is served."""
