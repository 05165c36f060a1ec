"""Storage of session levels: interface, changes, signed statements and journal."""
