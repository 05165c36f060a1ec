"""Firewall of a sandbox's network: rejects traffic to the host's own addresses, by routes; run once, with NET_ADMIN.

    python -I -S firewall.py ADDRESS …

Traffic through the host to elsewhere is not affected. Runs outside the package: standard library only.
"""

import errno
import fcntl
import socket
import struct
import sys

SIOCADDRT = 0x890B
RTF_UP, RTF_HOST, RTF_REJECT = 0x1, 0x4, 0x200

SHUT = "bascule: the way to the machine is shut"
"""What is said when it is done."""


def route(address: str) -> bytes:
    """The kernel's word for: nothing goes to this address."""
    nobody = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton("0.0.0.0"))  # noqa: S104 -- no address at all
    there = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
    exactly = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton("255.255.255.255"))
    flags = RTF_UP | RTF_HOST | RTF_REJECT
    # As in <linux/route.h>: the rest is which device, and how large packets are.
    return struct.pack("@L16s16s16sHhLPhPLLH", 0, there, nobody, exactly, flags, 0, 0, 0, 0, 0, 0, 0, 0)


def shut(addresses: "list[str]") -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for address in addresses:
            try:
                fcntl.ioctl(asking, SIOCADDRT, route(address))
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise


if __name__ == "__main__":
    shut(sys.argv[1:])
    print(SHUT, flush=True)  # noqa: T201 -- whoever has started this waits for it
