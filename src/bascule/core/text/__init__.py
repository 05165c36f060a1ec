"""Text safety: redaction of secrets and detection of invisible characters."""
