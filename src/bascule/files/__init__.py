"""Regular files of the host, opened without blocking; a FIFO, device, socket or folder in their place is an error."""
