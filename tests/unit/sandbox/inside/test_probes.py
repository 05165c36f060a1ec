"""What is asked from inside a box. Here it is asked outside, where nothing is tight."""

import os
from pathlib import Path

import pytest

from bascule.sandbox.inside import probes
from bascule.sandbox.owner import Owner

TIGHT = {"CapInh": "0", "CapPrm": "0", "CapEff": "0", "CapBnd": "0", "CapAmb": "0", "NoNewPrivs": "1", "Seccomp": "2"}


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes.os, "getresuid", lambda: (65532,) * 3)
    monkeypatch.setattr(probes.os, "getresgid", lambda: (65532,) * 3)


@pytest.mark.usefixtures("nobody")
def test_who_has_no_rights_left_is_confined() -> None:
    assert list(probes._rights(TIGHT)) == []


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    "wrong", [{"CapBnd": "1ff"}, {"CapEff": "8"}, {"NoNewPrivs": "0"}, {"Seccomp": "0"}, {"Seccomp": "1"}]
)
def test_each_right_that_is_left_is_told(wrong: dict[str, str]) -> None:
    assert len(list(probes._rights({**TIGHT, **wrong}))) == 1


@pytest.mark.usefixtures("nobody")
def test_what_the_system_does_not_tell_counts_as_wrong() -> None:
    assert len(list(probes._rights({}))) == 7


@pytest.mark.parametrize("who", [(0, 65532, 65532), (65532, 65532, 0)])
def test_root_is_told_in_any_of_its_forms(monkeypatch: pytest.MonkeyPatch, who: tuple[int, int, int]) -> None:
    monkeypatch.setattr(probes.os, "getresuid", lambda: who)
    assert any("root" in reason for reason in probes._rights(TIGHT))


def test_outside_no_box_is_found() -> None:
    reasons = list(probes.leaks(isolated=True))
    assert any("seccomp" in reason for reason in reasons)


def test_a_network_is_asked_about_only_where_there_must_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_routes", lambda: iter(["a route"]))
    monkeypatch.setattr(probes, "_interfaces", lambda: iter(["a network"]))
    assert {"a route", "a network"} <= set(probes.leaks(isolated=True))
    assert not {"a route", "a network"} & set(probes.leaks(isolated=False))


def test_the_loopback_is_no_network_and_always_up() -> None:
    with probes.socket.socket(probes.socket.AF_INET, probes.socket.SOCK_DGRAM) as asking:
        assert probes._is_up(asking, "lo")
    assert not any(" lo " in reason for reason in probes._interfaces())


def test_a_route_is_found_by_asking_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "SOMEWHERE", (("127.0.0.1", probes.socket.AF_INET),))
    assert list(probes._routes()) == ["there is a route to 127.0.0.1"]


def test_an_answer_that_says_nothing_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "NO_ROUTE", frozenset[int]())
    monkeypatch.setattr(probes, "SOMEWHERE", (("255.255.255.255", probes.socket.AF_INET),))
    assert "not known" in next(probes._routes())


def test_sockets_and_fifos_of_the_host_that_can_be_reached_are_reported(tmp_path: Path):
    owner = Owner(tmp_path / "state")
    try:
        # The folders of tests are deeper than a path of a socket may be.
        (link := Path("/tmp", f"decoys-{owner.id}")).symlink_to(owner.decoys())
        try:
            reasons = list(probes.ways_out("proxied", str(link)))
        finally:
            link.unlink()
    finally:
        owner.release()
    assert "a Unix socket of the host can be connected to" in reasons
    assert "a FIFO of the host can be written to" in reasons
    assert "a FIFO of the host can be read" in reasons


@pytest.mark.parametrize("kind", ["own", "masked", "missing"])
def test_a_fifo_that_leads_nowhere_is_not_reported(tmp_path: Path, kind: str):
    path = tmp_path / "fifo"
    if kind == "own":
        os.mkfifo(path)
    elif kind == "masked":
        path.touch(mode=0o400)
    reasons = list(probes._fifo_of_the_host(str(path)))
    # Root may write to any file, also to the empty one of a mask.
    assert reasons == (["a FIFO of the host can be written to"] if kind == "masked" and os.geteuid() == 0 else [])
