"""What happens in a runtime, kept for a while so that somebody can look at it as it happens."""
