"""Authentication of kit servers: bearer-token verification, and the middleware that sets a request's principal."""
