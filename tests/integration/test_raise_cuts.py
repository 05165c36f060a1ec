"""A raise in the middle of things: a call is under way, and a connection out of the box is open."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.command import BASCULE
from support.internet import ALLOWED, Internet, internet
from support.on_the_internet import entering, made_by

AGENT = Path(__file__).parents[1] / "support/streaming_agent.py"
SERVING = {
    "command": str(BASCULE),
    "args": ["sandbox", "serve"],
    "permissions": {"read": "read", "run": ["write", "connect"]},
}


def arrived(net: Internet) -> int:
    """Bytes that the other end has got of the stream; none of one that is closed."""
    argv = ["nsenter", f"--net=/proc/{net.far.pid}/ns/net", "--", "ss", "-tniHO", "state", "established"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [line for line in listed if ALLOWED in line.split()[2] and line.split()[2].endswith(":80")]
    found = [re.search(r"bytes_received:(\d+)", line) for line in ours]
    return sum(int(each[1]) for each in found if each is not None)


def until_more_than(net: Internet, count: int) -> None:
    deadline = time.monotonic() + 20
    while arrived(net) <= count:
        assert time.monotonic() < deadline


@pytest.mark.long
@pytest.mark.parametrize("engine", ["bubblewrap", "docker"])
def test_the_stream_dies_the_server_answers_again_and_there_is_no_way_back(engine: str, tmp_path: Path):
    config = tmp_path / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": {"box": SERVING}}))
    with internet() as net, made_by(engine, net) as more:
        argv = [*entering(net), sys.executable, str(AGENT), str(config), ALLOWED]
        env = {**os.environ, **more}
        agent = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd="/")
        assert agent.stdin is not None
        assert agent.stdout is not None
        with agent.stdin, agent.stdout:
            try:
                assert json.loads(agent.stdout.readline())["step"] == "streaming"
                until_more_than(net, 0)
                until_more_than(net, arrived(net))
                print("raise", file=agent.stdin, flush=True)
                raised = json.loads(agent.stdout.readline())
                # The raise has returned. The other end may not have been told that the stream is over: the network was
                # taken away first. But not a byte more comes.
                before = arrived(net)
                after = json.loads(agent.stdout.readline())
                assert arrived(net) in {0, before}
                assert agent.wait(60) == 0
            finally:
                agent.kill()
                agent.wait()

    assert (raised["ok"], raised["lane"]) == (False, "open"), raised
    assert after == {"step": "after", "kept": True, "lane": "sealed", "no way": True}
