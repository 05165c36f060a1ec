"""Hold the line: one supervised link per server, lane and principal; eras, states, endings."""
