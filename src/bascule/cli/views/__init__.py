"""Text views of audit records, imports, sessions and a running gateway."""
