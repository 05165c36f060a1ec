"""Seccomp filter, run by a small BPF interpreter that works as the kernel's."""

import errno
import json
import re
import struct
from functools import cache
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.seccomp import (
    ALLOW,
    ARCHITECTURES,
    ERROR,
    KILL,
    NUMBERS,
    REFUSED,
    REFUSED_IN,
    RefusedCall,
    docker_profile,
    filter_program,
    lane_filter,
)

MACHINES = ["x86_64", "aarch64"]
LONGEST = 4096
"""Instructions of a program that the kernel takes."""


@cache
def instructions(machine: str, lane: Lane | None = None) -> list[tuple[int, int, int, int]]:
    """The first filter, or the second one of a lane."""
    program = filter_program(machine) if lane is None else lane_filter(machine, lane)
    return list(struct.iter_unpack("=HBBI", program))


def answer(
    machine: str, number: int, *arguments: int, architecture: int | None = None, lane: Lane | None = None
) -> int:
    """The program's return value for a call."""
    program = instructions(machine, lane)
    whole = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("=IIQ6Q", number, ARCHITECTURES[machine] if architecture is None else architecture, 0, *whole)
    at = accumulator = 0
    for _ in range(LONGEST):
        code, if_so, if_not, value = program[at]
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x15:
                at += if_so if accumulator == value else if_not
            case 0x35:
                at += if_so if accumulator >= value else if_not
            case 0x45:
                at += if_so if accumulator & value else if_not
            case 0x06:
                return value
            case _:
                raise AssertionError(code)
    raise AssertionError("it never ends")


def call(machine: str, name: str, *arguments: int, lane: Lane | None = None) -> int:
    return answer(machine, NUMBERS[machine][name], *arguments, lane=lane)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_kernel_takes_it(machine: str) -> None:
    assert len(filter_program(machine)) // 8 <= LONGEST


@pytest.mark.parametrize("machine", MACHINES)
def test_each_refused_call_is_answered_with_its_error(machine: str) -> None:
    for refused in REFUSED:
        if refused.name in NUMBERS[machine] and not refused.conditions:
            assert call(machine, refused.name) == ERROR | refused.error, refused.name


@pytest.mark.parametrize("machine", MACHINES)
def test_what_servers_need_is_open(machine: str) -> None:
    refused = set(NUMBERS[machine].values())
    for number in set(range(460)) - refused:
        assert answer(machine, number, 1, 2, 3) == ALLOW, number


@pytest.mark.parametrize("machine", MACHINES)
def test_processes_and_threads_are_made_but_no_namespaces(machine: str) -> None:
    threads = 0x3D0F00
    assert call(machine, "clone", threads) == ALLOW
    assert call(machine, "clone", 17) == ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert call(machine, "clone", threads | flag) == ERROR | errno.EPERM
        assert call(machine, "clone", flag | 17) == ERROR | errno.EPERM
    assert call(machine, "clone3") == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_of_the_usual_kinds_alone_are_made(machine: str) -> None:
    for name in ("socket", "socketpair"):
        assert [family for family in range(100) if call(machine, name, family, 1) == ALLOW] == [1, 2, 10, 16]
    assert call(machine, "socket", 16, 3, 0) == ALLOW
    assert call(machine, "socket", 16, 3, 15) == ERROR | errno.EAFNOSUPPORT
    assert call(machine, "socket", 2, 2, 17) == ALLOW
    # The kernel reads the lower half alone, and so must we.
    assert call(machine, "socket", (1 << 32) | 38, 5) == ERROR | errno.EAFNOSUPPORT


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("lane", [Lane.PROXIED, Lane.SEALED])
def test_private_lanes_have_no_unix_sockets_but_pairs_of_streams(machine: str, lane: Lane) -> None:
    cloexec, nonblock = 0x80000, 0x800
    assert call(machine, "socket", 1, 1, lane=lane) == ERROR | errno.EAFNOSUPPORT
    assert call(machine, "socket", (1 << 32) | 1, 1, lane=lane) == ERROR | errno.EAFNOSUPPORT
    assert call(machine, "socket", 2, 1, lane=lane) == ALLOW
    pairs = {kind: call(machine, "socketpair", 1, kind | cloexec | nonblock, lane=lane) for kind in range(1, 16)}
    assert {kind for kind, returned in pairs.items() if returned == ALLOW} == {1}
    assert answer(machine, 0, lane=lane) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_only_the_sealed_lane_refuses_connections(machine: str) -> None:
    assert call(machine, "connect", lane=Lane.SEALED) == ERROR | errno.ENETUNREACH
    assert call(machine, "connect", lane=Lane.PROXIED) == ALLOW
    assert lane_filter(machine, Lane.OPEN) == b""


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_are_used_but_not_typed_on_for_others(machine: str) -> None:
    assert call(machine, "ioctl", 0, 0x5401) == ALLOW
    assert call(machine, "ioctl", 0, 0x5412) == ERROR | errno.EPERM
    assert call(machine, "ioctl", 0, (1 << 32) | 0x5412) == ERROR | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_stays_where_it_cannot_be_guessed(machine: str) -> None:
    assert call(machine, "personality", 0) == ALLOW
    assert call(machine, "personality", 0x40000) == ERROR | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_reads_cannot_be_watched_and_changes_can(machine: str) -> None:
    changes = 0xFFF & ~0x31
    assert call(machine, "inotify_add_watch", 3, 0, changes | 0x01000000) == ALLOW
    for event in (0x1, 0x10, 0x20, 0xFFF):
        assert call(machine, "inotify_add_watch", 3, 0, changes | event) == ERROR | errno.ENOSYS
    assert call(machine, "fcntl", 3, 6) == ALLOW
    for command in (1024, 1026, 1040):
        assert call(machine, "fcntl", 3, command) == ERROR | errno.EINVAL


@pytest.mark.parametrize("machine", MACHINES)
def test_the_page_cache_is_neither_seen_nor_emptied(machine: str) -> None:
    for name in ("preadv2", "pwritev2"):
        assert call(machine, name, 3, 0, 1, 0, 0, 0) == ALLOW
        for flag in (0x8, 0x80, 0x88):
            assert call(machine, name, 3, 0, 1, 0, 0, flag) == ERROR | errno.EOPNOTSUPP
    # Advice of this kind succeeds and does nothing; other advice is left to the kernel.
    assert call(machine, "fadvise64", 3, 0, 0, 4) == ERROR | 0
    assert call(machine, "fadvise64", 3, 0, 0, 3) == ALLOW
    assert [call(machine, "madvise", 0, 0, advice) for advice in (20, 21)] == [ERROR | 0] * 2
    assert [call(machine, "madvise", 0, 0, advice) for advice in (4, 8, 14)] == [ALLOW] * 3


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_ends_the_program(machine: str) -> None:
    assert answer(machine, 0, architecture=0x40000003) == KILL


def test_the_second_set_of_calls_is_closed() -> None:
    assert answer("x86_64", 0x40000000 | 1) == ERROR | errno.EPERM


def test_numbers_are_those_of_the_system_s_own_headers() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.is_file():
        pytest.skip("no headers of the kernel (Debian: apt-get install linux-libc-dev)")
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
    for name, number in NUMBERS["x86_64"].items():
        assert known.get(name, str(number)) == str(number), name


def test_docker_is_told_the_same() -> None:
    profile = docker_profile("x86_64")
    assert json.loads(json.dumps(profile)) == profile
    assert profile["architectures"] == ["SCMP_ARCH_X86_64"]
    assert [rule["names"][0] for rule in profile["syscalls"]] == [call.name for call in REFUSED]
    assert [(rule["errnoRet"], len(rule["args"])) for rule in profile["syscalls"]] == [
        (call.error, len(call.conditions)) for call in REFUSED
    ]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("socket", (38, 5, 0)), ("socket", (2, 1, 0)), ("socket", (16, 3, 9)), ("socket", (16, 3, 0)), ("socket", ((1 << 32) | 1, 1, 0)),
     ("clone", (0x10000011,)), ("clone", (17,)), ("ioctl", (0, (1 << 40) | 0x5412)), ("personality", (0,)),
     ("inotify_add_watch", (3, 0, 0x20)), ("inotify_add_watch", (3, 0, 0x2)), ("preadv2", (3, 0, 1, 0, 0, 8)),
     ("fadvise64", (3, 0, 0, 4)), ("fcntl", (3, 1024)), ("fcntl", (3, 1))],
)  # fmt: skip
def test_docker_s_words_mean_the_same(name: str, arguments: tuple[int, ...]) -> None:
    def holds(argument: dict[str, int | str]) -> bool:
        given, value = arguments[int(argument["index"])], int(argument["value"])
        match argument["op"]:
            case "SCMP_CMP_MASKED_EQ":
                return given & value == argument["valueTwo"]
            case "SCMP_CMP_NE":
                return given != value
            case _:
                return given >= value

    rules = [rule for rule in docker_profile("x86_64")["syscalls"] if rule["names"] == [name]]
    refused = any(all(map(holds, rule["args"])) for rule in rules)
    ours = call("x86_64", name, *arguments) != ALLOW
    # What has something in its upper half is refused there even if it is harmless.
    assert refused == ours or (refused and max(arguments) >> 32)


def test_every_refused_call_has_a_number_somewhere_and_every_number_is_used() -> None:
    names = {call.name for call in (*REFUSED, *REFUSED_IN[Lane.SEALED])}
    assert names == NUMBERS["x86_64"].keys()
    assert names >= NUMBERS["aarch64"].keys()


def test_one_architecture_s_numbers_are_all_different() -> None:
    for numbers in NUMBERS.values():
        assert len(set(numbers.values())) == len(numbers)


def test_calls_that_hide_what_they_do_are_refused_without_conditions() -> None:
    for name in ("clone3", "io_uring_setup", "unshare", "setns", "mount", "ptrace", "bpf", "open_by_handle_at"):
        assert [call.conditions for call in REFUSED if call.name == name] == [()]


def test_the_same_rule_stands_there_once() -> None:
    assert len(set(REFUSED)) == len(REFUSED)
    assert RefusedCall("mount") in REFUSED
