"""Child processes on the host: fork server, reaper, process trees, environment and stderr."""
