"""Where servers run. Every child process is this room's: spawning, groups, ending, reaping; transports get pipes."""
