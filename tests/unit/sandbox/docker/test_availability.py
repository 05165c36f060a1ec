"""Whether boxes can be made with an engine."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from bascule.sandbox.docker import availability as module
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.availability import Standing, Standings, standing_of
from support.fake_engine import answer, fake_engine

KERNEL = os.uname().release
VERSION = {"ApiVersion": "1.41", "Components": [{"Name": "Engine"}]}
INFO = {"OSType": "linux", "KernelVersion": KERNEL, "SecurityOptions": ["name=seccomp,profile=default"]}


def of(info: dict[str, Any] | None = None, **version: Any) -> Standing:
    return standing_of({**VERSION, **version}, {**INFO, **(info or {})}, KERNEL)


def test_an_engine_that_has_all_is_taken():
    assert of() == Standing()


@pytest.mark.parametrize(
    ("version", "info", "why"),
    [
        ({"ApiVersion": "1.39"}, {}, "its API is 1.39, and 1.40 is needed"),
        ({"ApiVersion": None}, {}, "its API is"),
        ({}, {"KernelVersion": "6.6-linuxkit"}, "another machine"),
        ({}, {"OSType": "windows"}, "another machine"),
        ({}, {"SecurityOptions": ["name=apparmor"]}, "seccomp"),
        ({}, {"SecurityOptions": ["name=seccomp", "name=rootless"]}, "rootless"),
        ({"Components": [{"Name": "Podman Engine"}]}, {}, "it is podman"),
    ],
)
def test_why_one_cannot_be_taken(version: dict[str, Any], info: dict[str, Any], why: str):
    assert why in of(info, **version).why_not


def test_an_engine_whose_users_are_others_outside_is_known():
    assert of({"SecurityOptions": ["name=seccomp", "name=userns"]}).remapped


async def test_one_that_does_not_answer_is_told_in_words(tmp_path: Path):
    why = (await Standings(Engine(str(tmp_path / "none"))).now()).why_not
    assert "cannot be reached" in why
    assert "does not run" in why


async def test_on_another_system_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "same Linux" in (await Standings(Engine(str(tmp_path / "none"))).now()).why_not


async def test_the_answer_holds_for_a_while_and_no_longer(monkeypatch: pytest.MonkeyPatch):
    async with fake_engine() as fake:
        fake.instead = {"/version": answer(200, VERSION), "/info": answer(200, INFO)}
        standings = Standings(Engine(fake.socket))
        assert [await standings.now() for _ in range(3)] == [Standing()] * 3
        assert fake.paths == ["/version", "/info"]
        monkeypatch.setattr(module, "KEPT", -1.0)
        await standings.now()
        assert len(fake.paths) == 4


async def test_one_that_comes_back_is_taken_at_once(tmp_path: Path):
    async with fake_engine() as fake:
        engine = Engine(str(tmp_path / "none"))
        standings = Standings(engine)
        assert (await standings.now()).why_not
        fake.instead = {"/version": answer(200, VERSION), "/info": answer(200, INFO)}
        engine.socket = fake.socket
        assert await standings.now() == Standing()
