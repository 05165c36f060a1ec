"""What servers said, kept and shown."""

import asyncio
import json
from pathlib import Path

import pytest

from support.command import bascule
from support.scenarios import entry, write_yaml

pytestmark = pytest.mark.requirement("UX-2")

FLOOD = """
import sys, threading
sys.argv = ["echo"]
def shout():
    while True:
        sys.stderr.write("all is well, said 4711 times over\\n" * 1000)
threading.Thread(target=shout, daemon=True).start()
exec(compile(open(SERVER).read(), SERVER, "exec"), {"__name__": "__main__"})
"""


@pytest.mark.long
async def test_logs_shows_what_a_server_said_without_its_secrets_and_how_its_links_fared(tmp_path: Path):
    described = entry("failing", 3, "no database for hunter-22 \x1b[31mhere", env={"KEY": "hunter-22"})
    write_yaml(tmp_path, {"dies": described, "echo": entry("echo")})
    none_yet = await bascule(tmp_path, "logs", "dies")
    await bascule(tmp_path, "list", "--user", "ada")
    shown = await bascule(tmp_path, "logs", "dies")
    lines = [json.loads(line) for line in (await bascule(tmp_path, "logs", "dies", "--json")).out.splitlines()]
    unknown = await bascule(tmp_path, "logs", "eco")

    assert (none_yet.code, none_yet.out) == (0, "nothing was logged of dies yet\n")
    assert shown.code == 0
    assert "no database for *** here" in shown.out
    assert "link failed: the server exited with code 3" in shown.out
    assert {line["kind"] for line in lines} == {"stderr", "link"}
    assert {line["user"] for line in lines} == {"ada"}
    assert all(line["pid"] for line in lines if line["kind"] == "stderr")
    assert unknown.code == 2
    assert "did you mean echo" in unknown.err
    assert "hunter-22" not in "".join(path.read_text() for path in tmp_path.glob("state/logs/*/*"))


@pytest.mark.long
async def test_a_server_that_floods_its_stderr_fills_no_disk_and_holds_up_no_call(tmp_path: Path):
    command = entry("echo")
    server = command["args"][-1]
    args = ["-c", FLOOD.replace("SERVER", repr(server))]
    write_yaml(tmp_path, {"loud": {"command": command["command"], "args": args}})
    ran = await asyncio.gather(*(bascule(tmp_path, "call", "loud_echo", "message=hi") for _ in range(3)))

    assert [(one.code, one.out) for one in ran] == [(0, "hi\n")] * 3
    kept = list(tmp_path.glob("state/logs/*/*"))
    assert kept
    assert sum(path.stat().st_size for path in kept) <= 2 * 1024 * 1024
