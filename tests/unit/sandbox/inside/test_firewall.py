"""The program that shuts the way from a box to its machine, in a network of the test's own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.sandbox.inside import firewall

PROGRAM = Path(firewall.__file__)
TRY = """
import socket, subprocess, sys
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
subprocess.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"], check=True)
subprocess.run(["ip", "address", "add", "10.9.0.2/24", "dev", "eth0"], check=True)
subprocess.run(["ip", "link", "set", "eth0", "up"], check=True)
subprocess.run(["ip", "link", "set", "eth1", "up"], check=True)
subprocess.run(["ip", "route", "add", "default", "via", "10.9.0.1"], check=True)

def leads(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))
        except OSError:
            return False
    return True

print([leads(address) for address in ("10.9.0.1", "192.0.2.7", "198.51.100.1")], flush=True)
for _ in range(2):
    subprocess.run([sys.executable, "-I", "-S", sys.argv[1], "10.9.0.1", "192.0.2.7"], check=True)
print([leads(address) for address in ("10.9.0.1", "192.0.2.7", "198.51.100.1")])
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("ip") is None, reason="it needs root, and iproute2")
def test_nothing_leads_to_the_addresses_any_more_and_everything_to_others_also_through_them():
    argv = ["unshare", "--net", sys.executable, "-c", TRY, str(PROGRAM)]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    assert ran.stdout.splitlines() == ["[True, True, True]", firewall.SHUT, firewall.SHUT, "[False, False, True]"], (
        ran.stderr
    )


def test_who_may_not_is_told_and_says_nothing_of_success():
    argv = [sys.executable, "-I", "-S", str(PROGRAM), "not an address"]
    ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode != 0
    assert firewall.SHUT not in ran.stdout
