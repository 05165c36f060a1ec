"""Programs that run inside a sandbox: entry, isolation probes, firewall, proxy forwarder; standard library only."""
