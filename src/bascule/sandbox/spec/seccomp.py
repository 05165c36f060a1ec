"""The refused system calls as engines want to be told of them: as a program that the kernel runs at every call, and as
a profile in Docker's words."""

import errno
import struct
from typing import Any

from bascule.sandbox.spec.seccomp__syscalls import NUMBERS, REFUSED, Condition, RefusedCall

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""By the name of the machine, what the kernel calls it."""

DOCKER_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}

ALLOW = 0x7FFF0000
KILL = 0x80000000
ERROR = 0x00050000

X32 = 0x40000000
"""Calls of x86_64 numbered from here are a second set of nearly all of them, which no program uses."""

LOAD = 0x20
JUMP_IF_EQUAL = 0x15
JUMP_IF_AT_LEAST = 0x35
JUMP_IF_BITS = 0x45
RETURN = 0x06

NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Where the number of a call, its architecture and its arguments lie in what the program is given."""

_JUMPS = {"is": JUMP_IF_EQUAL, "is not": JUMP_IF_EQUAL, "at least": JUMP_IF_AT_LEAST, "has bit": JUMP_IF_BITS}


def filter_program(machine: str) -> bytes:
    """The program for the kernel of this kind of machine."""
    program = [
        _instruction(LOAD, ARCHITECTURE),
        _instruction(JUMP_IF_EQUAL, ARCHITECTURES[machine], 1, 0),
        _instruction(RETURN, KILL),
        _instruction(LOAD, NUMBER),
    ]
    if machine == "x86_64":
        program += [_instruction(JUMP_IF_AT_LEAST, X32, 0, 1), _refusal(errno.EPERM)]
    for call in REFUSED:
        if call.name in NUMBERS[machine]:
            program += _rule(call, NUMBERS[machine][call.name])
    return b"".join([*program, _instruction(RETURN, ALLOW)])


def _rule(call: RefusedCall, number: int) -> list[bytes]:
    """Refuse one call. The number is in the accumulator before and after."""
    if not call.conditions:
        return [_instruction(JUMP_IF_EQUAL, number, 0, 1), _refusal(call.error)]
    body: list[bytes] = []
    # Two instructions for a condition, and one for the refusal behind the last: whoever does not match jumps over it.
    for index, condition in enumerate(call.conditions):
        rest = 2 * (len(call.conditions) - index - 1) + 1
        body += _tested(condition, rest)
    body += [_refusal(call.error), _instruction(LOAD, NUMBER)]
    return [_instruction(JUMP_IF_EQUAL, number, 0, len(body)), *body]


def _tested(condition: Condition, skipped: int) -> list[bytes]:
    if_so, if_not = (skipped, 0) if condition.test == "is not" else (0, skipped)
    return [
        _instruction(LOAD, ARGUMENTS + 8 * condition.argument),
        _instruction(_JUMPS[condition.test], condition.value, if_so, if_not),
    ]


def _refusal(error: int) -> bytes:
    return _instruction(RETURN, ERROR | error)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def docker_profile(machine: str) -> dict[str, Any]:
    """The same, as Docker takes it in `security-opt seccomp=`. A call in another architecture's manner ends who made
    it."""
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [DOCKER_ARCHITECTURES[machine]],
        "syscalls": [_docker_rule(call) for call in REFUSED if call.name in NUMBERS[machine]],
    }


def _docker_rule(call: RefusedCall) -> dict[str, Any]:
    return {
        "names": [call.name],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": call.error,
        "args": [_docker_condition(condition) for condition in call.conditions],
    }


def _docker_condition(condition: Condition) -> dict[str, Any]:
    """Arguments are compared as a whole there. A number with something in its upper half is none of those that are
    allowed, and is refused by `at least` or `is not`."""
    match condition.test:
        case "is":
            return _compared(condition.argument, "SCMP_CMP_MASKED_EQ", 0xFFFFFFFF, condition.value)
        case "has bit":
            return _compared(condition.argument, "SCMP_CMP_MASKED_EQ", condition.value, condition.value)
        case "is not":
            return _compared(condition.argument, "SCMP_CMP_NE", condition.value)
        case "at least":
            return _compared(condition.argument, "SCMP_CMP_GE", condition.value)


def _compared(index: int, how: str, value: int, second: int = 0) -> dict[str, Any]:
    return {"index": index, "op": how, "value": value, "valueTwo": second}
