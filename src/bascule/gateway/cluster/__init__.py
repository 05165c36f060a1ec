"""Cluster of gateway nodes: membership, owner routing, forwarding and forward tokens."""
