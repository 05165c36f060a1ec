"""JSON Web Tokens: keys, JWKS, claims, verification and minting."""
