"""The way out of a proxied box: Envoy, told from `egress.allow`, a socket for each and records of what they ask."""
