"""What may be touched: one confined root per agent session, seen by agents as `/workspace`."""
