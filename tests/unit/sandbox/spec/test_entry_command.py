"""How the first program is started."""

import json

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.box import Bounds, Box
from bascule.sandbox.spec.entry_command import entry_argv


def box(lane: Lane, *, proxied: bool = False) -> Box:
    bounds = Bounds(memory=1, cpus=1, pids=1, disk=1)
    env = {"TOKEN": "hunter2-hunter2"}
    return Box("b", "files", lane, ("/usr/bin/server", "-x"), env, "/data", (), bounds, python="/p", proxied=proxied)


def told(argv: tuple[str, ...]) -> dict[str, object]:
    return json.loads(argv[4])


def test_it_becomes_the_server_and_says_nothing_of_its_environment() -> None:
    argv = entry_argv(box(Lane.OPEN), "become", limits={"RLIMIT_NPROC": 9})
    assert argv[:4] == ("/p", "-I", "-S", "/run/bascule/inside/entry.py")
    assert argv[5:] == ("/usr/bin/server", "-x")
    assert told(argv)["limits"] == {"RLIMIT_NPROC": 9}
    assert told(argv)["cwd"] == "/data"
    assert not any("hunter2" in word for word in argv)


def test_only_an_open_box_may_have_a_network() -> None:
    assert [told(entry_argv(box(lane), "prove"))["isolated"] for lane in Lane] == [False, True, True]


def test_only_a_box_with_a_proxy_leads_to_one() -> None:
    assert told(entry_argv(box(Lane.SEALED), "become"))["forwarding"] == "none"
    assert told(entry_argv(box(Lane.PROXIED, proxied=True), "become"))["forwarding"] == "start"
    assert told(entry_argv(box(Lane.PROXIED, proxied=True), "become", forwarding="wait"))["forwarding"] == "wait"


def test_who_does_not_become_the_server_is_not_told_of_it() -> None:
    assert len(entry_argv(box(Lane.SEALED), "stay")) == 5
