"""Programs that write to an audit log: `audit_writers.py STATE together COUNT RECORDS` and `… STATE killed KILLS SEED`.

Together, so many processes write so many records each. Killed, one after the other writes until it is killed, at some
moment. Each process writes down, in a file of its own, the number of every record that it was told is in the log.
"""

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.records.audit.log import Audit
from bascule.store.sqlite.store import SqliteStore

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.auditing import Asked

ALICE = Principal("alice", "s-1")


class Always:
    """A permit."""

    def valid(self) -> bool:
        return True


async def write(state: Path, records: int | None, acks: Path) -> None:
    store = SqliteStore(state / "bascule.db", state)
    await store.open()
    audit = Audit(time.time)
    await audit.open(state, store.anchors, every=0.02, whole=False)
    told = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    assert audit._open is not None
    slot = audit._open.slot.name
    done = 0
    while records is None or done < records:
        numbers = [audit.sending(ALICE, Asked(), "tools/call", first=True, values=None) for _ in range(done % 5 + 1)]
        if audit.permit(Always(), numbers[-1]).valid():
            os.write(told, "".join(f"{slot} {number}\n" for number in numbers).encode())
        if done % 50 == 0:
            number = audit._open.writer.next
            await audit.level_changed(receipt())
            os.write(told, f"{slot} {number}\n".encode())
        await asyncio.sleep(0)
        done += len(numbers)
    await audit.close()
    await store.close()


def receipt() -> Receipt:
    level = DataSensitivity.SECRET
    return Receipt(1, "raise", ALICE, time.time(), DataSensitivity.PUBLIC, level, 1, Cause("label", "files", "read"))


def forked(state: Path, records: int | None, acks: Path) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            asyncio.run(write(state, records, acks))
            code = 0
        finally:
            os._exit(code)
    return pid


def together(state: Path, count: int, records: int) -> None:
    pids = [forked(state, records, state / f"acks-{number}") for number in range(count)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert codes == [0] * count, codes


def killed(state: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(kills):
        acks = state / f"acks-{number}"
        pid = forked(state, None, acks)
        deadline = time.monotonic() + 20
        while not (acks.exists() and acks.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.06)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    place, way, first, second = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    place.mkdir(mode=0o700, exist_ok=True)
    {"together": together, "killed": killed}[way](place, first, second)
