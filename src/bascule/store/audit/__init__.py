"""Storage of the audit log: chain files, and anchors in the database. `records/audit` writes and verifies."""
