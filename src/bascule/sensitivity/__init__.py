"""Sensitivity level of an agent session: ratchet, private datasets, labels, permits, lease, fence of a raise."""
