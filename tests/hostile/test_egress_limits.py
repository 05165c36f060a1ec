"""Too much of everything, and a proxy that dies: others do not notice, and who does is told what happened."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.envoy_config import BURST, CONNECTIONS
from bascule.sandbox.inside import proxy_forwarder
from support.asking import Answer, Caller, ask, calling, connect, get
from support.internet import ALLOWED
from support.way_out import ALLOW, WayOut, way_out


@pytest.fixture
def box(out: WayOut) -> Generator[str]:
    """The socket of a box of the test's own."""
    yield out.socket_for("busy")
    out.release("busy")


@pytest.fixture
def mortal() -> Generator[WayOut]:
    """One of the test's own, whose proxy may be killed."""
    with way_out() as made:
        yield made


def reached(answer: Answer | None) -> bool:
    return answer is not None and answer.status == 200


@contextmanager
def tunnel(path: str, target: str) -> Generator[Caller]:
    with calling(path) as caller:
        caller.say(f"CONNECT {target} HTTP/1.1", f"Host: {target}")
        assert reached(caller.answer())
        yield caller


def test_a_box_has_only_so_many_connections_and_takes_none_from_others(out: WayOut, box: str):
    with ExitStack() as stack:
        callers = [stack.enter_context(calling(box)) for _ in range(CONNECTIONS + 40)]
        served = 0
        for caller in callers:
            try:
                caller.say("GET http://denied.test/ HTTP/1.1", "Host: denied.test")
                served += caller.answer() is not None
            except ConnectionError:
                pass

        assert CONNECTIONS // 2 <= served <= CONNECTIONS
        assert reached(get(out.path, "http://allowed.test/"))
    out.until(lambda: reached(get(box, "http://allowed.test/")))


@pytest.mark.long
def test_a_box_may_ask_only_so_often_and_the_log_stays_bounded(out: WayOut, box: str):
    since, answers = len(out.records), list[int]()
    with calling(box) as caller:
        for _ in range(4 * BURST):
            caller.say("GET http://denied.test/ HTTP/1.1", "Host: denied.test")
            answer = caller.answer()
            assert answer is not None
            answers.append(answer.status)
            if answer.status == 429:
                assert answer.refused == "too many"

    assert set(answers) == {403, 429}
    assert reached(get(out.path, "http://allowed.test/"))
    out.until(lambda: len([each for each in out.records[since:] if each.status == 403]) >= answers.count(403))
    told = [each for each in out.records[since:] if each.box == "busy" and each.reason == "too many"]
    assert len(told) <= answers.count(429) // 4


def test_what_is_much_is_carried_whole(out: WayOut, box: str):
    with tunnel(box, "allowed.test:80") as caller:
        caller.say("POST /much HTTP/1.1", "content-length: 3000000", body=b"x" * 3_000_000)
        answer = caller.answer()

    assert answer is not None
    assert answer.body == b"x" * 1_000_000


def test_a_box_that_is_released_loses_its_tunnels(out: WayOut):
    path = out.socket_for("short")
    with tunnel(path, "allowed.test:443") as caller, tunnel(out.path, "allowed.test:443") as unharmed:
        out.release("short")
        assert caller.ended() == b""
        unharmed.say("GET /still HTTP/1.1")
        assert reached(unharmed.answer())


@pytest.mark.long
def test_killed_in_use_it_ends_what_it_carried_and_comes_back_as_strict_as_before(mortal: WayOut):
    out, box = mortal, mortal.socket_for("busy")
    pid = out.proxy.pid
    assert pid is not None
    with out.reaching(ALLOWED), tunnel(box, "allowed.test:443") as caller:
        os.kill(pid, signal.SIGKILL)
        assert caller.ended() == b""
        for path in (box, out.path):
            out.until(lambda path=path: tried(path))
        denied = connect(box, "denied.test:443")
        assert denied is not None
        assert denied.refused == "host"
    assert out.proxy.pid != pid


@pytest.mark.long
def test_when_another_list_counts_nobody_of_the_old_one_is_reached_not_even_in_what_was_open(mortal: WayOut):
    out = mortal
    with tunnel(out.path, "allowed.test:443") as caller:
        out.run(out.proxy.change(Egress(allow=("a.wild.test",))))

        answer = get(out.path, "http://allowed.test/")
        assert answer is not None
        assert answer.refused == "host"
        assert caller.ended() == b""
        assert reached(get(out.path, "http://a.wild.test/"))
    out.run(out.proxy.change(Egress(allow=ALLOW)))
    assert reached(get(out.path, "http://allowed.test/"))


def tried(path: str) -> bool:
    try:
        return reached(get(path, "http://allowed.test/"))
    except OSError:
        return False


@contextmanager
def forwarder(path: str) -> Generator[int]:
    """As it runs in a box: from its file alone, as a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    folder = str(Path(proxy_forwarder.__file__).parent)
    program = f"import sys; sys.path.insert(0, {folder!r}); import proxy_forwarder; proxy_forwarder.serve({port}, 'egress.sock', lambda: print(flush=True))"
    argv = [sys.executable, "-I", "-S", "-c", program]
    with subprocess.Popen(argv, cwd=Path(path).parent, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield port
        finally:
            process.kill()


def through(port: int, *lines: str) -> Answer | None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as end:
        caller = Caller(end)
        caller.say(*lines)
        return caller.answer()


@pytest.mark.long
def test_behind_the_forwarder_a_proxy_that_is_down_is_told_and_one_that_is_back_is_found(mortal: WayOut):
    out, box = mortal, mortal.socket_for("busy")
    request = ("GET http://allowed.test/ HTTP/1.1", "Host: allowed.test")
    with forwarder(box) as port:
        assert reached(through(port, *request))
        pid = out.proxy.pid
        assert pid is not None
        # Where it cannot be found: a killed one is back before we have looked.
        socket_file, aside = Path(box), Path(box).with_name("aside")
        socket_file.rename(aside)
        answer = through(port, *request)
        aside.rename(socket_file)

        assert answer is not None
        assert (answer.status, answer.refused, answer.json["error"]) == (503, "no proxy", "no proxy")
        os.kill(pid, signal.SIGKILL)
        out.until(lambda: reached(through(port, *request)))
        denied = through(port, "CONNECT denied.test:443 HTTP/1.1", "Host: denied.test:443")
        assert denied is not None
        assert denied.refused == "host"


def test_names_that_somebody_makes_up_keep_nobody_else_from_theirs(out: WayOut, box: str):
    """Names below a wildcard are anybody's to make up; each is looked up once, and forgotten."""
    for number in range(50):
        answer = ask(box, f"GET http://{number}.wild.test/ HTTP/1.1", f"Host: {number}.wild.test")
        assert answer is not None
        assert answer.refused == "unresolved"
    assert reached(get(out.path, "http://allowed.test/"))
