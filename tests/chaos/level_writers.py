"""A program whose processes raise levels and are killed: `level_writers.py FOLDER WRITERS RAISES SEED [ADDRESS]`.

Half of the writers are killed at some time, after some of their raises. Watchers look all the while, and write down whatever they see fall. Each
writer writes down what it asked for, and each answer that it got.
"""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from bascule.core.errors import BasculeError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.open import store_at

PRINCIPALS = 40
WATCHERS = 3
LEVELS = [DataSensitivity.INTERNAL] * 12 + [DataSensitivity.CONFIDENTIAL] * 4 + [DataSensitivity.SECRET]


def principal(number: int) -> Principal:
    return Principal("alice", f"s-{number}")


async def write(folder: Path, address: str | None, name: int, raises: int, seed: int) -> None:
    chance = random.Random(f"{seed} {name}")
    store = store_at(address, folder)
    with (
        (folder / f"asked-{name}").open("a", buffering=1) as asked,
        (folder / f"got-{name}").open("a", buffering=1) as got,
    ):
        for number in range(raises):
            who, level = chance.randrange(PRINCIPALS), chance.choice(LEVELS)
            dataset = f"{name}-{number}"
            asked.write(f"{who} {level:d} {dataset}\n")
            record, _ = await store.levels.raise_level(
                principal(who), level, Cause("dataset", dataset=dataset), time.time()
            )
            assert record.level >= level, record
            got.write(f"{who} {level:d} {dataset}\n")
    await store.close()


async def watch(folder: Path, address: str | None, name: int) -> None:
    store = store_at(address, folder)
    highest: dict[Principal, DataSensitivity] = {}
    with (folder / f"seen-{name}").open("a", buffering=1) as seen:
        while not (folder / "done").exists():
            for record in await store.levels.sessions():
                if record.level < highest.get(record.principal, DataSensitivity.PUBLIC) or record.doubt:
                    seen.write(f"fell: {record}, was {highest.get(record.principal)}\n")
                highest[record.principal] = record.level
            seen.write("looked\n")
    await store.close()


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def fork(work: Coroutine[Any, Any, None]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            asyncio.run(work)
            status = 0
        except (BasculeError, AssertionError) as error:
            evidence = error.evidence if isinstance(error, BasculeError) else ""
            print(f"{type(error).__name__}: {error} {evidence}", flush=True)
        finally:
            os._exit(status)
    work.close()
    return child


def main(folder: Path, writers: int, raises: int, seed: int, address: str | None) -> None:
    chance = random.Random(seed)
    watchers = [fork(watch(folder, address, name)) for name in range(WATCHERS)]
    names = {fork(write(folder, address, name, raises, seed)): name for name in range(writers)}
    living = set(names)
    # By child, the file that tells how far it has come, and how far it may come.
    doomed = {
        child: (folder / f"asked-{name}", chance.randrange(1, raises))
        for child, name in chance.sample(sorted(names.items()), writers // 2)
    }
    killed = failed = 0
    while living:
        ended = {child: status for child in living for gone, status in [os.waitpid(child, os.WNOHANG)] if gone}
        living -= ended.keys()
        doomed = {child: end for child, end in doomed.items() if child in living}
        killed += sum(map(os.WIFSIGNALED, ended.values()))
        failed += sum(os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0 for status in ended.values())
        for child in [child for child, (asked, most) in doomed.items() if lines_in(asked) >= most]:
            del doomed[child]
            os.kill(child, signal.SIGKILL)
        time.sleep(chance.random() * 0.01)
    (folder / "done").touch()
    failed += sum(os.waitpid(child, 0)[1] != 0 for child in watchers)
    print(f"killed {killed}, failed {failed}", flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    folder, writers, raises, seed, *address = sys.argv[1:]
    main(Path(folder), int(writers), int(raises), int(seed), next(iter(address), None))
