"""Sensitivity level of each agent session in a kit server: stored on disk, or held by the runtime behind a socket."""
