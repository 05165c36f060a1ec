"""Fork server as a program: `python -I -S __main__.py SOCKET OWNER`, both of them inherited file descriptors.

Runs outside the package: standard library only, since every import costs start time, and memory in each reaper. The
packages `bascule` and `bascule.sandbox` exist in name only, for the few modules that run here.
"""

import os
import socket
import sys
from types import ModuleType

if __name__ == "__main__":
    place = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 -- pathlib takes longer than all the rest
    for name, folder in (("bascule", os.path.dirname(place)), ("bascule.sandbox", place)):  # noqa: PTH120
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [folder]

    from bascule.sandbox.process import tree
    from bascule.sandbox.process.fork_server_main import Brood

    tree.be_called(b"bascule-nursery")
    os.chdir("/")
    orders, owner = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (orders, owner):
        if descriptor >= 0:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 -- no server is to have them
    Brood(socket.socket(fileno=orders), owner).run()
    os._exit(0)
