"""Audit log: tamper-evident records, verification, maintenance and repair."""
