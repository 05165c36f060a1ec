"""Main loop of the fork server: forks a reaper for each control socket, which costs a fraction of a new Python process,
and ends the processes that a killed reaper has left. Runs outside the package: standard library only."""

import gc
import os
import socket

from bascule.sandbox.process import tree
from bascule.sandbox.process.reaper import KILLING, Keeper, refusal
from bascule.sandbox.process.reaper_protocol import letter
from bascule.sandbox.process.wait import Watch, prick_up_ears


class Brood:
    """The keepers of one nursery. `run` returns when we are gone, or want no more, and the last of them has ended."""

    def __init__(self, orders: socket.socket, owner: int) -> None:
        self._orders = orders
        self._owner = owner
        prick_up_ears()
        self._watch = Watch(owner)
        self._watch.on(orders.fileno())
        self._sees_all = tree.visible()
        self._whole_tree = tree.adopt_orphans() and self._sees_all
        self._keepers: set[int] = set()
        self._bereaved = False
        self._open = True

    def run(self) -> None:
        # What is there now is never looked at by the collector again: looking is writing, and would end the sharing.
        gc.freeze()
        gc.disable()
        while self._open or self._keepers:
            ready = self._watch.wait()
            if self._open and (self._watch.bereft(ready) or (self._orders.fileno() in ready and not self._take())):
                self._open = False
                self._watch.only_children()
            self._look_after()

    def _take(self) -> bool:
        """Fork a keeper for the socket that came. False if none will come any more."""
        try:
            word, descriptors, _, _ = socket.recv_fds(self._orders, 1, 1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)  # noqa: FBT003 -- the system's own order of words
            with socket.socket(fileno=descriptor) as control:
                self._fork(control)
        return bool(word)

    def _fork(self, control: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            control.send(letter(refusal(error)), socket.MSG_DONTWAIT)
            return
        if pid:
            self._keepers.add(pid)
            return
        code = 1
        try:
            self._watch.close()
            self._orders.close()
            tree.be_called(b"bascule-keeper")
            keeper = Keeper(control, self._owner, sees_all=self._sees_all)
            keeper.run()
            code = 1 if keeper.left else 0
        finally:
            os._exit(code)

    def _look_after(self) -> None:
        tree.reap(self._reaped)
        if self._bereaved and self._whole_tree:
            # What was beneath a keeper is beneath us now, and nobody wants it.
            self._bereaved = bool(tree.clear(self._reaped, KILLING, lambda: self._keepers))

    def _reaped(self, pid: int, code: int) -> None:
        if pid in self._keepers and code:
            self._bereaved = True
        self._keepers.discard(pid)
