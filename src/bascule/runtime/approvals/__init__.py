"""Approvals by a person (human in the loop): pending approvals, and callbacks of the program."""
