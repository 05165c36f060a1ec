"""Sandbox server over stdio: start outside of a sandbox, malformed messages, concurrent calls, signals."""

import ctypes
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from bascule.config.state_dir import LANE_VARIABLE, WORKSPACE_VARIABLE
from bascule.core.errors import ConfigError
from bascule.kit.sandbox_server import server
from bascule.kit.sandbox_server.server import SandboxServer, folder_of
from support.command import BASCULE
from support.waiting import until


def ask(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    return ask(number, "tools/call", name=tool, arguments=arguments)


def answers(folder: Path, *lines: bytes | dict[str, Any]) -> list[dict[str, Any]]:
    """What it says to these until there are no more. Commands that run then are ended."""
    out = io.BytesIO()
    told = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    SandboxServer(folder, {"PATH": os.environ["PATH"]}, out).serve(io.BytesIO(told))
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.parametrize(("method", "key"), [("server/discover", "supportedVersions"), ("initialize", "serverInfo")])
def test_it_speaks_both_eras(tmp_path: Path, method: str, key: str):
    (answer,) = answers(tmp_path, ask(1, method, protocolVersion="2025-11-25"))
    assert key in answer["result"]


def test_it_lists_its_tools_with_what_they_may_do(tmp_path: Path):
    (answer,) = answers(tmp_path, ask(1, "tools/list"))
    assert {tool["name"]: tool["_meta"]["dev.bascule/permissions"] for tool in answer["result"]["tools"]} == {
        "run": ["write", "connect"],
        "read": ["read"],
        "write": ["write"],
        "list": ["read"],
    }


def test_a_call_gives_its_result_and_a_failure_says_why(tmp_path: Path):
    said = {
        each["id"]: each["result"] for each in answers(tmp_path, call(1, "write", path="a", text="x"), call(2, "read"))
    }
    assert said[1]["structuredContent"] == {"path": "a", "written": 1}
    assert (said[2]["isError"], said[2]["structuredContent"]["code"]) == (True, "BSC-202")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"not json\n", -32700),
        (b"[]\n", -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b"\xff\n", -32700),
        (ask(1, "resources/list"), -32601),
        ({"id": 1}, -32601),
        ({"id": 1, "method": 7}, -32601),
        ({"id": 1, "method": "tools/call"}, -32602),
        ({"id": 1, "method": "tools/call", "params": 5}, -32602),
        (call(1, "delete", path="a"), -32602),
    ],
)
def test_whatever_comes_is_answered_and_it_goes_on(tmp_path: Path, line: Any, code: int):
    wrong, right = answers(tmp_path, line, ask(9, "ping"))
    assert wrong["error"]["code"] == code
    assert (right["id"], "result" in right) == (9, True)


def test_a_message_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "LONGEST", 1000)
    wrong, right = answers(tmp_path, b"x" * 5000 + b"\n", ask(9, "ping"))
    assert (wrong["error"]["code"], right["id"]) == (-32700, 9)


def test_made_up_messages_are_survived(tmp_path: Path, scale: int):
    draw = random.Random(11)
    base = [json.dumps(each).encode() for each in (call(1, "read", path="a"), ask(2, "initialize"), call(3, "list"))]
    lines: list[bytes] = []
    for _ in range(200 * scale):
        line = bytearray(draw.choice(base))
        for _ in range(draw.randrange(1, 5)):
            line[draw.randrange(len(line))] = draw.choice(b'{}[]",:0xn\\/\x00\xff')
        lines.append(bytes(line).replace(b"\n", b" ") + b"\n")

    said = answers(tmp_path, *lines, ask("last", "ping"))
    assert any(each["id"] == "last" for each in said)
    assert all(("result" in each) != ("error" in each) for each in said)


@contextmanager
def started(folder: Path, **env: str) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [BASCULE, "sandbox", "serve", "--unboxed", folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **env},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=20)


def said_to(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    into: IO[bytes] | None = process.stdin
    assert into is not None
    into.write(json.dumps(message).encode() + b"\n")
    into.flush()


def next_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def pid_in(folder: Path) -> int:
    await until(lambda: (folder / "pid").exists() and (folder / "pid").read_text().endswith("\n"))
    return int((folder / "pid").read_text())


SLEEPING = "echo $$ > pid; sleep 300"


async def test_a_long_call_holds_nobody_up_and_can_be_called_off(tmp_path: Path):
    with started(tmp_path) as process:
        said_to(process, call("long", "run", line=SLEEPING, timeout=600))
        pid = await pid_in(tmp_path)
        said_to(process, call(2, "list"))
        assert next_of(process)["id"] == 2
        said_to(process, call("long", "list"))
        assert "one id for two" in next_of(process)["error"]["message"]

        cancelled = {"method": "notifications/cancelled", "params": {"requestId": "long"}}
        said_to(process, {"jsonrpc": "2.0", **cancelled})
        await until(lambda: not is_there(pid))
        # Nothing is said to who has called it off.
        said_to(process, ask(3, "ping"))
        assert next_of(process)["id"] == 3


@pytest.mark.parametrize("how", ["end of input", "TERM", "INT"])
async def test_when_it_ends_so_does_what_it_has_started(tmp_path: Path, how: str):
    with started(tmp_path) as process:
        said_to(process, call(1, "run", line=SLEEPING, timeout=600))
        pid = await pid_in(tmp_path)
        if how == "end of input":
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
        else:
            process.send_signal(getattr(signal, f"SIG{how}"))
        assert process.wait(20) == (130 if how == "INT" else 0)
        await until(lambda: not is_there(pid))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_also_when_the_thread_that_waits_for_input_is_not_woken(tmp_path: Path, number: int, code: int):
    with started(tmp_path) as process:
        said_to(process, call(1, "run", line=SLEEPING, timeout=600))
        pid = await pid_in(tmp_path)
        # The system may give a signal to any of them.
        threads = [int(thread.name) for thread in Path(f"/proc/{process.pid}/task").iterdir()]
        other = next(thread for thread in threads if thread != process.pid)
        assert ctypes.CDLL(None).tgkill(process.pid, other, number) == 0
        assert process.wait(20) == code
        await until(lambda: not is_there(pid))


def test_who_goes_on_after_it_hears_signals_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def heard() -> tuple[object, ...]:
        woken = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(woken)
        return signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), woken

    before, threads = heard(), threading.active_count()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    server.serve(str(tmp_path))
    assert heard() == before
    assert threading.active_count() == threads


def test_without_a_box_it_is_no_server(tmp_path: Path):
    for environ in ({}, {LANE_VARIABLE: ""}, {LANE_VARIABLE: "airtight"}):
        with pytest.raises(ConfigError, match="no box around it") as caught:
            folder_of({**environ, WORKSPACE_VARIABLE: str(tmp_path)}, None)
        assert "--unboxed" in caught.value.fix
    for lane in ("open", "proxied", "sealed"):
        assert folder_of({LANE_VARIABLE: lane, WORKSPACE_VARIABLE: str(tmp_path)}, None) == tmp_path
    assert folder_of({}, str(tmp_path)) == tmp_path


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(ConfigError, match="is no folder"):
        folder_of({LANE_VARIABLE: "open"}, str(tmp_path / "gone"))


def test_in_a_box_for_nobody_it_has_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = folder_of({LANE_VARIABLE: "open", WORKSPACE_VARIABLE: str(tmp_path / "gone")}, None)
    assert (found.parent, [*found.iterdir()]) == (tmp_path, [])


def test_it_starts_without_what_is_slow_to_import():
    slow = ("mcp", "fastmcp", "aiohttp", "yaml", "jwt", "pydantic")
    asked = f"import sys, bascule.kit.sandbox_server.server; print([name for name in {slow} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout == "[]\n"
