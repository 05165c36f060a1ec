"""Server processes: fork server, reaper, process trees, environment and stderr."""
