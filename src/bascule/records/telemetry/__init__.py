"""What a runtime does, as counts and spans that others collect."""
