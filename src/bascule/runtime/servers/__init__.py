"""Server registry: links, lanes, listings, notifications, twins, refresh and tool pinning."""
