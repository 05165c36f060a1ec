"""Who listens at a port."""

import os
import socket

from bascule.cli.doctor.network import listener_at


def test_a_process_that_listens_is_found_by_its_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        found = listener_at(listening.getsockname()[1])

        assert found is not None
        assert found.pid == os.getpid()
        assert not found.ours
