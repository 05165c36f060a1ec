"""Whether we can listen."""

import os
import socket

from bascule.cli.doctor.network import port_check


def test_a_port_that_is_taken_is_told_with_who_has_it():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        taken = port_check("gateway", "gateway.port", "127.0.0.1", port)

        assert (taken.status, str(os.getpid()) in taken.evidence) == ("fail", True)
        assert port_check("gateway", "gateway.port", "127.0.0.1", port, needed=False).status == "warn"
    assert port_check("gateway", "gateway.port", "127.0.0.1", port).status == "ok"


def test_an_address_of_another_machine_is_told():
    found = port_check("gateway", "gateway.port", "192.0.2.1", 8470)

    assert found.message == "192.0.2.1 is no address of this machine"
    assert "`gateway.host`" in found.fix
