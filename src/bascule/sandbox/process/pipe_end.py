"""End of a pipe as a file object for `connect_read_pipe` and `connect_write_pipe`, whose descriptor is closed once."""

import io
import os


class PipeEnd(io.FileIO):
    """One end of a pipe, and the owner of its descriptor until a transport has it.

    uvloop closes the descriptor of a transport itself, in a later turn of the loop, and then closes the file object. In
    between, the number may be given to a file that another thread opens, such as the journal of levels. So `discard`
    leaves the descriptor to the transport, and a number that no longer leads to the pipe is not closed.
    """

    def __init__(self, descriptor: int, mode: str) -> None:
        super().__init__(descriptor, mode, closefd=False)
        self._pipe = _identity(descriptor)
        self.attached = False
        """Whether a transport closes it."""

    def close(self) -> None:
        if self.closed:
            return
        descriptor = self.fileno()
        super().close()
        if _identity(descriptor) == self._pipe:
            os.close(descriptor)

    def discard(self) -> None:
        """Close it, unless a transport does."""
        if not self.attached:
            self.close()


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
