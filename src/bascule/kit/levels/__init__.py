"""Session levels of a server, and the socket over which the runtime raises them."""
