"""Keys at an address: when they are fetched, how long they are kept."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, NotIdentified
from bascule.identity.jwt.remote_jwks import FRESH, KEPT, PAUSE, RemoteKeys
from support.tokens import ec_key, jwk, rsa_key
from support.waiting import fail_after

ONE, TWO = jwk(rsa_key(), "one"), jwk(rsa_key(number=1), "two")


@dataclass(slots=True)
class Provider:
    """Lists keys, or fails, and counts. Its clock stands still unless it is moved."""

    keys: list[Any] = field(default_factory=lambda: [ONE])
    fetches: int = 0
    now: float = 1000.0
    failing: bool = False
    gate: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def fetch(self) -> bytes:
        self.fetches += 1
        self.asked.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.failing:
            raise ConnectFailed("no answer")
        return json.dumps({"keys": self.keys}).encode()

    def remote(self) -> RemoteKeys:
        return RemoteKeys(self.fetch, ("RS256", "ES256"), lambda: self.now)


async def ids(remote: RemoteKeys, kid: str | None, algorithm: str = "RS256") -> list[str | None]:
    return [key.kid for key in await remote.find(algorithm, kid)]


async def test_a_set_is_fetched_when_it_is_first_needed_and_then_kept():
    provider = Provider()
    remote = provider.remote()
    assert provider.fetches == 0

    for _ in range(5):
        assert await ids(remote, "one") == ["one"]
    assert provider.fetches == 1


async def test_an_unknown_name_fetches_again_but_not_in_a_rush():
    provider = Provider()
    remote = provider.remote()
    await ids(remote, "one")
    for number in range(50):
        assert await ids(remote, f"unknown-{number}") == []
    assert provider.fetches == 1

    provider.now += PAUSE
    for number in range(50):
        assert await ids(remote, f"unknown-{number}") == []
    assert provider.fetches == 2


async def test_a_new_key_is_found_at_the_next_fetch():
    provider = Provider()
    remote = provider.remote()
    await ids(remote, "one")
    provider.keys = [ONE, TWO]
    assert await ids(remote, "two") == []

    provider.now += PAUSE
    assert await ids(remote, "two") == ["two"]


async def test_a_removed_key_is_not_believed_after_the_set_was_fetched_again():
    provider = Provider([ONE, TWO])
    remote = provider.remote()
    assert await ids(remote, "one") == ["one"]
    provider.keys = [TWO]

    provider.now += FRESH + 1
    assert await ids(remote, "one") == []
    assert await ids(remote, "two") == ["two"]


async def test_known_keys_outlive_a_failing_provider_for_a_while_and_no_longer():
    provider = Provider()
    remote = provider.remote()
    await ids(remote, "one")
    provider.failing = True

    provider.now += KEPT
    assert await ids(remote, "one") == ["one"]
    assert remote.trouble == "no answer"
    provider.now += PAUSE
    with pytest.raises(NotIdentified) as refused:
        await ids(remote, "one")
    assert (refused.value.rule, refused.value.error) == ("keys_known", "")

    provider.failing = False
    provider.now += PAUSE
    assert await ids(remote, "one") == ["one"]
    assert remote.trouble == ""


async def test_a_provider_that_never_answered_lets_nobody_in_and_is_not_asked_in_a_rush():
    provider = Provider(failing=True)
    remote = provider.remote()
    for _ in range(20):
        with pytest.raises(NotIdentified):
            await ids(remote, "one")
    assert provider.fetches == 1


async def test_a_set_that_cannot_be_read_changes_nothing():
    provider = Provider()
    remote = provider.remote()
    await ids(remote, "one")
    provider.keys = []

    provider.now += FRESH + 1
    assert await ids(remote, "one") == ["one"]
    assert remote.trouble == "it does not list 1 to 64 keys"


async def test_of_many_at_once_one_fetches():
    provider = Provider(gate=asyncio.Event())
    remote = provider.remote()
    async with fail_after(10), asyncio.TaskGroup() as group:
        asked = [group.create_task(ids(remote, "one")) for _ in range(50)]
        await provider.asked.wait()
        assert provider.gate is not None
        provider.gate.set()

    assert [task.result() for task in asked] == [["one"]] * 50
    assert provider.fetches == 1


async def test_who_gives_up_waiting_does_not_end_it_for_the_others():
    provider = Provider(gate=asyncio.Event())
    remote = provider.remote()
    async with fail_after(10):
        first = asyncio.create_task(ids(remote, "one"))
        await provider.asked.wait()
        second = asyncio.create_task(ids(remote, "one"))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait((first,))
        assert provider.gate is not None
        provider.gate.set()

        assert await second == ["one"]
    assert first.cancelled()
    assert provider.fetches == 1


async def test_closing_ends_a_fetch_under_way():
    provider = Provider(gate=asyncio.Event())
    remote = provider.remote()
    async with fail_after(10):
        asked = asyncio.create_task(ids(remote, "one"))
        await provider.asked.wait()
        await remote.aclose()
        await asyncio.wait((asked,))
        await remote.aclose()
    assert asked.cancelled()


async def test_a_token_without_a_name_means_the_only_key_of_its_algorithm():
    provider = Provider([ONE, jwk(ec_key(), "ec")])
    remote = provider.remote()

    assert await ids(remote, None) == ["one"]
    assert await ids(remote, None, "ES256") == ["ec"]
    assert await ids(remote, "ec") == []
    provider.keys = [ONE, TWO]
    provider.now += FRESH + 1
    assert await ids(remote, None) == []
