"""The server that tests have: real, out of reach for others, and gone in the end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.postgres import PostgresServer
from support.waiting import until

HOST = """
import time
from support.postgres import made_server
server = made_server()
with server.guarded():
    print(server.folder, flush=True)
    time.sleep(60)
"""


def test_it_syncs_and_listens_on_a_socket_file_only(postgres: PostgresServer):
    assert postgres.run("postgres", "SHOW fsync") == [("on",)]
    assert postgres.run("postgres", "SHOW listen_addresses") == [("",)]


@pytest.mark.long
async def test_it_is_gone_also_when_its_test_run_was_killed(postgres: PostgresServer):
    tests = Path(__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", HOST], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(tests)}
    ) as host:
        assert host.stdout is not None
        folder = Path(host.stdout.readline().strip())
        pid = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        host.send_signal(signal.SIGKILL)
    await until(lambda: not folder.exists() and not Path(f"/proc/{pid}").exists())
