"""Secrets and signing keys: keyring, vault, key files and the lock around them."""
