"""Approvals by a person: pending approvals and callbacks."""
