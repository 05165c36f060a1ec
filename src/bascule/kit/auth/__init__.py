"""Authentication of servers written with the kit: token verification and session middleware."""
