"""Values and errors: what every other room speaks in. Frozen, without I/O, importing nothing of ours."""
