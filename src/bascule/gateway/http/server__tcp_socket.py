"""A socket at which this machine is reached: by clients, or by other gateways."""

import socket

from bascule.core.errors import ConfigError
from bascule.gateway.http.server import BACKLOG


def listen_at(host: str, port: int, *, named: str, fix: str) -> socket.socket:
    """One that listens already. Raises `ConfigError`, which says what was `named` and how to mend it."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen at {named}: {error.strerror}", fix=fix) from error
    return listening
