"""Audit log, tamper-evident: writes and verifies the records. `store/audit` stores the chain files and anchors."""
