"""Whether a call may happen, and by which lane: named rules over facts. Pure; it is given everything it looks at."""
