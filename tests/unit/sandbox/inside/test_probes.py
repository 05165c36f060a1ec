"""What is asked from inside a box. Here it is asked outside, where nothing is tight."""

import pytest

from bascule.sandbox.inside import probes

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
