"""Authentication: JSON Web Tokens, OAuth, Host and Origin checks, signed state, and the principal of a request."""
