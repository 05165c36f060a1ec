"""Storage of sensitivity levels: interface, changes, and two signed witnesses (database and journal)."""
