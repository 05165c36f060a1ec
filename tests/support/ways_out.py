"""Run of the corpus of ways out: receivers in two network namespaces, an agent in one of them, and the tokens that arrived."""

import fcntl
import json
import os
import secrets
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from hostile.ways_out.server import load
from hostile.ways_out.way import WAYS, Way
from support.internet import DENIED, HERE, HERE_SIX, NAMES, Internet, internet
from support.on_the_internet import entering, made_by

TESTS = Path(__file__).parents[1]
SOURCE = TESTS / "hostile/ways_out"
LONGEST = 120.0
"""Seconds for a stage of the agent, on a machine that is busy with other things."""

ARRIVING = 5.0
"""Seconds for the last token to arrive with the defence off."""

FAR_SIX, LINK_LOCAL = "2001:db8::254", "fe80::9"
PORTS = {"tcp": 7001, "udp": 7002, "mptcp": 7003, "udp_lite": 7004, "listened": 7005}
ALLOWED_PORTS = (80, 443)

load()


@dataclass
class Program:
    """Program of the tests that prints lines of JSON, and goes on when it reads a line."""

    process: "subprocess.Popen[bytes]"
    lines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def until(self, key: str, within: float = LONGEST) -> dict[str, Any]:
        """The next line with this key. All lines are kept."""
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            deadline = time.monotonic() + within
            while True:
                assert selector.select(max(deadline - time.monotonic(), 0)), f"no {key} within {within} s"
                line = self.process.stdout.readline()
                assert line, f"the program ended without {key}"
                self.lines.append(json.loads(line))
                if key in self.lines[-1]:
                    return self.lines[-1]

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


@contextmanager
def program(*argv: str) -> Generator[Program]:
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    pipe = subprocess.PIPE
    # Unbuffered: a line in a buffer would not wake the selector.
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, env=environment, cwd="/", bufsize=0) as process:
        try:
            yield Program(process)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(LONGEST)
        finally:
            process.kill()


@dataclass
class Arrivals:
    """Receivers outside of every sandbox, with all that arrived."""

    net: Internet
    receivers: list[Program]
    given: list[str] = field(default_factory=list[str])
    """Addresses in messages to the client."""
    kept: list[str] = field(default_factory=list[str])
    """What the operator sees of the agent session."""

    def settle(self) -> None:
        """Makes all receivers read until nothing is left."""
        for each in self.receivers:
            each.go_on()
            each.until("settled")

    def at(self, receiver: str) -> str:
        """All text of one kind of receiver."""
        allowed, outside = self._by_hosts()
        match receiver:
            case "client":
                return "\n".join(self.given)
            case "operator":
                return "\n".join(self.kept)
            case "allowed":
                return "\n".join(map(json.dumps, allowed))
            case _:
                return "\n".join([*map(json.dumps, outside), *self._received(), *self.net.looked_up()])

    def _by_hosts(self) -> tuple[list[Any], list[Any]]:
        """Requests to hosts of the small internet: those that may receive data, and all others."""
        allowed, outside = list[Any](), list[Any]()
        for asked in self.net.asked():
            may = asked["at"] in ("198.51.100.10", "198.51.100.11", "2001:db8::10") and asked["port"] in ALLOWED_PORTS
            (allowed if may else outside).append(asked)
        return allowed, outside

    def _received(self) -> list[str]:
        texts: list[str] = []
        for each in self.receivers:
            for line in each.lines:
                data = bytes.fromhex(line.get("data", ""))
                texts += [data.decode("latin-1"), data.hex()]
        return texts


@dataclass(frozen=True)
class Passed:
    """One pass through the corpus: by way, the note of the sender, and the kinds of receivers its token arrived at."""

    notes: dict[str, str]
    arrived: dict[str, set[str]]

    def delivered(self, way: Way) -> bool:
        """Returns true if a token arrived at its receiver, or at any that may not have it."""
        return bool(self.arrived[way.name] - {"allowed"}) or way.receiver in self.arrived[way.name]


@dataclass(frozen=True)
class Stage:
    """All passes through the corpus in one lane, or with the defence off."""

    passes: tuple[Passed, ...]

    def delivered(self, way: Way) -> bool:
        """Returns true if any of its tokens arrived."""
        return any(each.delivered(way) for each in self.passes)

    def absent(self, way: Way) -> bool:
        """Returns true if this kernel lacks the feature."""
        return not self.delivered(way) and self.passes[0].notes[way.name].startswith("absent")

    def notes(self, way: Way) -> str:
        return " / ".join(sorted({each.notes[way.name] for each in self.passes}))[:200]


Stages = dict[str, Stage]
RECEIVERS = ("outside", "client", "operator", "allowed")

SEEN: dict[str, Stages] = {}
"""By engine, what this run has seen."""


def tried(engine: str, folder: Path, times: int) -> Stages:
    """The whole corpus by one engine: once with the defence off, and a number of times in each private lane."""
    order = [("off", 1), ("proxied", times), ("sealed", times)]
    passes: list[dict[str, Any]] = [
        {"stage": stage, "tokens": _tokens()} for stage, count in order for _ in range(count)
    ]
    with ExitStack() as stack:
        # The state of the system clock is one for the whole machine: two runs at a time would read each other's.
        fcntl.flock(stack.enter_context(Path(gettempdir(), "bascule-ways-out.lock").open("w")), fcntl.LOCK_EX)
        net = stack.enter_context(internet())
        settings = _laid_out(net, folder)
        outside = ("nsenter", f"--net=/proc/{net.far.pid}/ns/net", "--")
        far = stack.enter_context(_receivers(outside, "far", {**settings, "interface": "in"}))
        near = stack.enter_context(_receivers(entering(net), "near", settings))
        arrivals = Arrivals(net, [near, far])
        to = {**settings, **near.until("to")["to"]}
        far.until("to")
        plan = {"to": to, "passes": passes, "ways": {name: way.server for name, way in WAYS.items()}}
        made = stack.enter_context(made_by(engine, net))
        notes = _driven(arrivals, made, folder, plan)
    found = [
        (each["stage"], Passed(note, _arrived(arrivals, each["tokens"])))
        for each, note in zip(passes, notes, strict=True)
    ]
    SEEN[engine] = {stage: Stage(tuple(each for name, each in found if name == stage)) for stage, _ in order}
    return SEEN[engine]


def _tokens() -> dict[str, str]:
    return {name: secrets.token_hex(4) for name in WAYS}


def _driven(arrivals: Arrivals, made: dict[str, str], folder: Path, plan: dict[str, Any]) -> list[dict[str, str]]:
    """Runs the agent through its plan. Returns the notes of the senders, by pass."""
    config, path = _configured(folder, plan["to"]), folder / "plan.json"
    path.write_text(json.dumps(plan))
    set_here = [f"{name}={value}" for name, value in {**made, "BASCULE_HOME": str(folder / "state")}.items()]
    argv = [sys.executable, "-m", "support.ways_out_agent", str(config), str(path)]
    notes: list[dict[str, str]] = []
    with program(*entering(arrivals.net), "env", *set_here, *argv) as agent:
        for each in plan["passes"]:
            answer = agent.until("notes")
            notes.append(answer["notes"])
            arrivals.given += answer["client"]
            arrivals.kept += answer["operator"]
            absent = {name for name, note in notes[-1].items() if note.startswith("absent")}
            expected = {} if each["stage"] != "off" else {name: each["tokens"][name] for name in WAYS.keys() - absent}
            _settle(arrivals, expected)
            agent.go_on()
    arrivals.settle()
    return notes


def table() -> list[str]:
    """Summary of the corpus, one line for each way: the result with the defence off and in each private lane of each engine."""
    columns = [(engine, stage) for engine in SEEN for stage in SEEN[engine]]
    lines = [f"{'way':28}" + "".join(f"{f'{stage}/{engine[:6]}':16}" for engine, stage in columns)]
    for way in WAYS.values():
        cells = [_cell(SEEN[engine][stage], way, stage) for engine, stage in columns]
        lines.append(f"{way.name:28}" + "".join(f"{cell:16}" for cell in cells).rstrip())
    return lines if SEEN else []


def _cell(stage: Stage, way: Way, name: str) -> str:
    if stage.absent(way) and name == "off":
        return "absent"
    if not stage.delivered(way):
        return "-"
    return "delivers" if name == "off" else "exception" if name in way.except_in and way.exception else "OUT"


def _settle(arrivals: Arrivals, expected: dict[str, str]) -> None:
    """Waits for the expected tokens, for a bounded time: packets may arrive after the call that sent them returned."""
    deadline = time.monotonic() + ARRIVING
    arrivals.settle()
    while any(not found for found in _arrived(arrivals, expected).values()) and time.monotonic() < deadline:
        arrivals.settle()


def _arrived(arrivals: Arrivals, tokens: dict[str, str]) -> dict[str, set[str]]:
    texts = {receiver: arrivals.at(receiver) for receiver in RECEIVERS}
    return {name: {each for each, text in texts.items() if token in text} for name, token in tokens.items()}


# The stage


def _laid_out(net: Internet, folder: Path) -> dict[str, Any]:
    """Folders that sandboxes show, and the addresses of the small internet."""
    project = folder / "project"
    shutil.copytree(SOURCE, project / "hostile/ways_out", ignore=shutil.ignore_patterns("__pycache__"))
    (project / "pyproject.toml").touch()
    places = {"project": project, **{name: folder / name for name in ("args", "ro", "rw", "outside")}}
    for each in places.values():
        each.mkdir(exist_ok=True)
        each.chmod(0o777)
    for side, interface, address in ((net.near, "out", "fe80::8"), (net.far, "in", LINK_LOCAL)):
        side.run("ip", "address", "add", f"{address}/64", "dev", interface, "nodad")
    net.near.run("sh", "-c", "echo 0 65534 > /proc/sys/net/ipv4/ping_group_range")
    number = int(IPv4Address(DENIED))
    return {
        **{name: str(path) for name, path in places.items()},
        **PORTS,
        "interface": "out",
        "own": HERE,
        "own_six": HERE_SIX,
        "far": DENIED,
        "far_number": str(number),
        "far_hex": hex(number),
        "far_six": FAR_SIX,
        "far_pid": net.far.pid,
        "names": NAMES,
        "link_local": f"{LINK_LOCAL}%out",
        "subnet_broadcast": "198.51.100.255",
        "group": "239.9.9.9",
        "group_six": "ff02::9999%out",
        "python": os.path.realpath(sys.executable),
    }


@contextmanager
def _receivers(enter: Sequence[str], role: str, settings: dict[str, Any]) -> Generator[Program]:
    with program(*enter, sys.executable, "-m", "support.receivers", role, json.dumps(settings)) as made:
        yield made


def _configured(folder: Path, settings: dict[str, Any]) -> Path:
    argv = [sys.executable, "-S", "-E", f"{settings['project']}/hostile/ways_out/server.py"]
    mounts = [{"path": settings["ro"]}, {"path": settings["rw"], "mode": "rw"}]
    inheriting = {"command": "/bin/sh", "sandbox": "none"}
    opened = ["-c", 'exec 9>"$0"; exec "$@"', f"{settings['outside']}/inherited"]
    auto, old = [*argv, "new", settings["args"]], [*argv, "old"]
    servers = {
        "auto": {"command": auto[0], "args": auto[1:], "kit": True},
        "mounts": {"command": old[0], "args": old[1:], "sandbox": {"mounts": mounts}},
        "plain_auto": {**inheriting, "args": [*opened, *auto]},
        "plain_mounts": {**inheriting, "args": [*opened, *old]},
    }
    config = folder / "bascule.yaml"
    config.write_text(json.dumps({"mcp_servers": servers, "egress": {"allow": ["allowed.test", "*.wild.test"]}}))
    return config
