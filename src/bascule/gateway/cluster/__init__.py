"""Cluster of gateways on one store: membership, session affinity (owner routing), forwarding, forward tokens, TLS."""
