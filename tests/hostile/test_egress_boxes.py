"""The way out as a program in a proxied box finds it: by HTTP_PROXY, through the forwarder, or by going around it. In each
engine that is there, with its real first program, filter and limits."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.box import PROXY_FOLDER
from bascule.sandbox.spec.engine import Ended, Engine
from bascule.sandbox.spec.launch_request import Order
from support.boxes import engine as engine  # noqa: PLC0414 -- a fixture
from support.boxes import ordered, python, run_in
from support.internet import ALLOWED, DENIED, NAMES
from support.waiting import until
from support.way_out import WayOut, way_out

ASKING = """
import json, os, socket, ssl, sys, time, urllib.error, urllib.request

trusting = ssl._create_unverified_context()

def asked(url):
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting))
    try:
        with opener.open(url, timeout=20) as answer:
            return [answer.status, json.loads(answer.read())["at"]]
    except urllib.error.HTTPError as error:
        return [error.code, error.headers.get("x-bascule-egress"), json.loads(error.read())]
    except (OSError, urllib.error.URLError) as error:
        return [0, str(error)]

def tried(what):
    try:
        return repr(what())
    except OSError as error:
        return error.strerror or str(error)
"""


def told(ended: Ended) -> Any:
    assert ended.code == 0, ended.output
    return json.loads(ended.output.splitlines()[-1])


@pytest.fixture
def folder(out: WayOut) -> Iterator[str]:
    yield str(Path(out.socket_for("boxed")).parent)
    out.release("boxed")


def order_for(folder: str, code: str, *args: str, **more: Any) -> Order:
    return ordered(*python(ASKING + code, *args), lane=Lane.PROXIED, sockets={PROXY_FOLDER: folder}, **more)


async def test_who_is_listed_is_reached_in_the_clear_and_through_a_tunnel(engine: Engine, out: WayOut, folder: str):
    code = 'print(json.dumps([asked("http://allowed.test/"), asked("https://allowed.test/"), asked("http://a.wild.test/")]))'
    since = len(out.records)

    ended = await run_in(engine, order_for(folder, code))

    assert told(ended) == [[200, ALLOWED], [200, ALLOWED], [200, "198.51.100.11"]]
    assert out.heard(since, box="boxed", method="CONNECT", host="allowed.test", port=443, phase="opened")
    assert out.heard(since, box="boxed", method="GET", host="a.wild.test", port=80, status=200)


async def test_nobody_else_is_and_a_program_is_told_why(engine: Engine, out: WayOut, folder: str):
    urls = [
        "http://denied.test/",
        f"http://{DENIED}/",
        "http://allowed.test:8080/",
        "http://loopback.wild.test/",
        "https://denied.test/",
    ]
    code = "print(json.dumps([asked(url) for url in sys.argv[1:]]))"

    with out.reaching():
        ended = await run_in(engine, order_for(folder, code, *urls))

    *plain, tunnel = told(ended)
    assert [(answer[0], answer[1]) for answer in plain] == [
        (403, "host"), (403, "address"), (403, "port"), (403, "private"),
    ]  # fmt: skip
    assert plain[0][2]["reason"].startswith("denied.test is not among the hosts")
    assert tunnel[0] == 0
    assert "403" in tunnel[1]


async def test_around_the_proxy_there_is_nothing(engine: Engine, out: WayOut, folder: str):
    code = """
def udp():
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    return end.sendto(b"query", (sys.argv[3], 53))

def raw():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

print(json.dumps([
    tried(lambda: socket.create_connection((sys.argv[1], 80), 5)),
    tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 5)),
    tried(lambda: socket.create_connection(("2001:db8::10", 80), 5)),
    tried(udp),
    tried(lambda: socket.getaddrinfo("allowed.test", 80)),
    tried(raw),
    [name for _, name in socket.if_nameindex()],
]))
"""
    with socket.create_server(("127.0.0.1", 0)) as ours, out.reaching():
        ours.settimeout(0.1)
        port = str(ours.getsockname()[1])
        ended = await run_in(engine, order_for(folder, code, ALLOWED, port, NAMES))
        with pytest.raises(TimeoutError):
            ours.accept()

    address, loopback, six, udp, name, raw, interfaces = told(ended)
    assert address == "Network is unreachable"
    assert loopback == "Connection refused"
    assert six in {"Network is unreachable", "Cannot assign requested address"}
    assert udp == "Network is unreachable"
    assert "allowed.test" not in name
    assert raw == "Operation not permitted"
    assert interfaces == ["lo"]


async def test_a_box_sees_its_own_socket_and_can_change_nothing_of_it(engine: Engine, out: WayOut, folder: str):
    out.socket_for("another")
    code = """
at = "/run/bascule/egress"
print(json.dumps([
    os.listdir(at),
    tried(lambda: os.unlink(at + "/egress.sock")),
    tried(lambda: os.rename(at + "/egress.sock", at + "/aside")),
    tried(lambda: os.mkdir(at + "/more")),
    tried(lambda: os.chmod(at + "/egress.sock", 0)),
    asked("http://allowed.test/"),
]))
"""
    try:
        ended = await run_in(engine, order_for(folder, code))
    finally:
        out.release("another")

    there, *refusals, answer = told(ended)
    assert there == ["egress.sock"]
    assert set(refusals) <= {"Read-only file system", "Permission denied", "Operation not permitted"}
    assert answer == [200, ALLOWED]


async def test_a_sealed_box_has_no_way_to_the_proxy_even_if_it_is_given_one(engine: Engine, out: WayOut, folder: str):
    code = """
print(json.dumps([
    tried(lambda: socket.create_connection(("127.0.0.1", 3128), 5)),
    [name for name in os.environ if "proxy" in name.lower()],
]))
"""
    ended = await run_in(engine, ordered(*python(ASKING + code), lane=Lane.SEALED))

    assert told(ended) == ["Network is unreachable", []]


async def test_a_proxied_box_without_a_proxy_has_no_network_and_nothing_else_is_wrong_with_it(engine: Engine):
    code = f'print(json.dumps([tried(lambda: socket.create_connection(("{ALLOWED}", 80), 5)), asked("http://{ALLOWED}/")[0]]))'

    ended = await run_in(engine, ordered(*python(ASKING + code), lane=Lane.PROXIED))

    assert told(ended) == ["Network is unreachable", 0]


@pytest.fixture
def mortal() -> Iterator[WayOut]:
    with way_out() as made:
        yield made


@pytest.mark.long
async def test_a_box_that_lives_on_is_told_when_the_proxy_is_down_and_finds_it_when_it_is_back(
    engine: Engine, mortal: WayOut, tmp_path: Path
):
    code = """
def until(wanted):
    for _ in range(2000):
        answer = asked("http://allowed.test/")
        if answer[:2] == wanted:
            return answer
        time.sleep(0.01)
    raise SystemExit(f"it is still {answer}")

until([200, sys.argv[1]])
open("/workspace/up", "w").close()
down = until([503, "no proxy"])
open("/workspace/down", "w").close()
until([200, sys.argv[1]])
print(json.dumps(down))
"""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    workspace.chmod(0o777)
    path = Path(mortal.socket_for("boxed"))
    order = order_for(str(path.parent), code, ALLOWED, workspace=str(workspace))
    running = asyncio.create_task(run_in(engine, order))
    try:
        await until(lambda: (workspace / "up").exists() or running.done())
        path.rename(path.with_name("aside"))
        await until(lambda: (workspace / "down").exists() or running.done())
        # The next one makes the socket again, in the folder that the box has had all the time.
        assert mortal.proxy.pid is not None
        os.kill(mortal.proxy.pid, signal.SIGKILL)

        down = told(await running)
    finally:
        running.cancel()
        await asyncio.wait((running,))

    assert down[2]["error"] == "no proxy"
    assert "does not run" in down[2]["reason"]
