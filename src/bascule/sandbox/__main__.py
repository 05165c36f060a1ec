"""A nursery, as a process: `python -I -S __main__.py SOCKET OWNER`, both of them file descriptors that it was given.

Python gets neither our environment nor any package, ours included: importing that would take longer than all the rest,
and every keeper would carry it. So the two packages are there in name only, for the few files that run here.
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
