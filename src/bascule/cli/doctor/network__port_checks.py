"""What `bascule doctor` checks of an address at which we listen: that nobody else does."""

import errno
import socket

from bascule.cli.doctor.check import Check
from bascule.cli.doctor.network__listener import Listener, listener_at

LOOKED_AT = 50
"""Ports after the one that is taken among which a free one is looked for."""


def port_check(subject: str, key: str, host: str, port: int, *, needed: bool = True) -> Check:
    """Whether we can listen there. `key` is what an operator edits; `needed` whether anybody asked for it."""
    trouble = _trouble(host, port)
    if trouble is None:
        return Check(subject, "ok", f"{host}:{port} is free")
    status = "fail" if needed else "warn"
    if trouble.errno == errno.EADDRINUSE:
        return _taken(subject, status, key, (host, port))
    evidence = f"bind {host}:{port}: {trouble.strerror or trouble}"
    if trouble.errno == errno.EACCES:
        fix = f"set `{key}` to a port from 1024 on"
        return Check(subject, status, f"this user may not listen at port {port}", evidence, fix)
    fix = f"set `{key.rpartition('.')[0]}.host` to 127.0.0.1, or to an address of this machine"
    return Check(subject, status, f"{host} is no address of this machine", evidence, fix)


def _taken(subject: str, status: str, key: str, place: tuple[str, int]) -> Check:
    host, port = place
    who = listener_at(port)
    if who is not None and who.ours:
        return Check(subject, "ok", f"a Bascule serves at {host}:{port} already: {who}")
    return Check(
        subject,
        status,
        f"port {port} is taken by another program",
        f"{who or 'a process of another user'} listens at {host}:{port}",
        _ways_out(key, host, port, who),
    )


def _ways_out(key: str, host: str, port: int, who: Listener | None) -> str:
    free = next((near for near in range(port + 1, port + LOOKED_AT) if _trouble(host, near) is None), None)
    told = f"set `{key}: {free}`, which is free" if free is not None else f"set `{key}` to another port"
    return f"{told}; or end the other one: `kill {who.pid}`" if who is not None else told


def _trouble(host: str, port: int) -> OSError | None:
    """Why nobody can listen there. What is bound is let go at once, and never listens."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OverflowError:
        return OSError(errno.EACCES, "there is no such port")
    except OSError as error:
        return error
    return None
