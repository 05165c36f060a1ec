"""Who is asking: principals, their tokens, and the context variables that carry them through a request."""
