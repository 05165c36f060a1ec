"""One gateway of a cluster: its internal endpoint for the other gateways, and its start and drain."""
