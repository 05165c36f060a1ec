"""Stdin and stdout, whatever they are. Each case is a process of its own: it takes them away from whatever prints."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import asyncio, os, sys
from bascule.gateway.stdio.streams import standard_ends

async def main():
    loop = asyncio.get_running_loop()
    with standard_ends() as ends:
        print("stray", flush=True)
        assert sys.stdin.read() == ""
        reader = asyncio.StreamReader()
        reading = os.fdopen(ends.reading, "rb", 0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), reading)
        writing, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(ends.writing, "wb", 0))
        while line := await reader.readline():
            writing.write(line.upper())
        writing.close()
        await asyncio.sleep(0.05)

asyncio.run(main())
"""


def run(**ends: Any) -> "subprocess.CompletedProcess[bytes]":
    program = [sys.executable, "-c", PROGRAM]
    return subprocess.run(program, stderr=subprocess.PIPE, timeout=60, check=False, **ends)


def test_pipes_are_taken_as_they_are():
    ran = run(input=b"a line\n", stdout=subprocess.PIPE)
    assert (ran.stdout, ran.stderr, ran.returncode) == (b"A LINE\n", b"stray\n", 0)


@pytest.mark.long
def test_files_are_carried(tmp_path: Path):
    (tmp_path / "in").write_bytes(b"a line\n")
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        ran = run(stdin=source, stdout=target)
    assert ((tmp_path / "out").read_bytes(), ran.stderr) == (b"A LINE\n", b"stray\n")


def test_one_socket_may_be_both():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(60)
        program = [sys.executable, "-c", PROGRAM]
        with subprocess.Popen(
            program, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL
        ) as process:
            for _ in range(20):
                ours.sendall(b"a line\n")
                assert ours.recv(100) == b"A LINE\n"
            ours.shutdown(socket.SHUT_WR)
            assert process.wait(60) == 0


@pytest.mark.long
def test_two_sockets_are_taken_as_they_are():
    (ours, theirs), (far, near) = socket.socketpair(), socket.socketpair()
    with ours, theirs, far, near:
        ours.sendall(b"a line\n")
        ours.shutdown(socket.SHUT_WR)
        run(stdin=theirs, stdout=near)
        assert far.recv(100) == b"A LINE\n"


@pytest.mark.long
def test_one_that_is_closed_is_said_so():
    for closed in (0, 1):
        ran = run(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=lambda closed=closed: os.close(closed))
        assert b"stdin or stdout is closed" in ran.stderr


@pytest.mark.long
def test_without_a_stderr_what_is_printed_is_lost():
    ran = run(input=b"a line\n", stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
    assert (ran.stdout, ran.returncode) == (b"A LINE\n", 0)
