"""Remote JWKS: fetched on demand from a server on this machine, and cached."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, NotIdentified
from bascule.identity.jwt.remote_jwks import FRESH, KEPT, LONGEST, PAUSE, RemoteKeys, fetch_key_set
from support.tokens import ec_key, jwk, listing, rsa_key
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


async def test_a_set_that_turns_bad_is_logged_once_and_the_last_good_one_kept_for_an_hour(
    caplog: pytest.LogCaptureFixture,
):
    provider = Provider()
    remote = provider.remote()
    await ids(remote, "one")
    provider.keys = [ONE, jwk(ec_key(), "one")]

    provider.now += FRESH + 1
    assert await ids(remote, "one") == ["one"]
    provider.now += PAUSE
    assert await ids(remote, "one", "ES256") == []
    assert [record.getMessage() for record in caplog.records] == [
        "the JWKS of the identity provider is not taken: it lists the kid 'one' 2 times, so none of its keys is used"
    ]
    provider.now += KEPT
    with pytest.raises(NotIdentified) as refused:
        await ids(remote, "one")
    assert refused.value.rule == "keys_known"


async def test_a_set_with_one_kid_twice_from_the_start_lets_no_token_in():
    provider = Provider([ONE, {**TWO, "kid": "one"}])
    with pytest.raises(NotIdentified):
        await ids(provider.remote(), "one")


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


async def test_what_lies_at_the_address_is_fetched():
    async with listing(jwk(rsa_key())) as lister:
        assert json.loads(await fetch_key_set(lister.url)) == {"keys": lister.keys}


@pytest.mark.parametrize("status", [204, 301, 302, 307, 404, 500])
async def test_another_status_is_a_failure_and_no_redirect_is_followed(status: int):
    async with listing() as elsewhere, listing() as lister:
        lister.status, lister.headers = status, {"Location": elsewhere.url}
        with pytest.raises(ConnectFailed, match=str(status)):
            await fetch_key_set(lister.url)

        assert (lister.fetches, elsewhere.fetches) == (1, 0)


async def test_an_answer_that_is_too_long_is_not_read_to_its_end():
    async with listing() as lister:
        lister.body = b" " * (LONGEST + 1)
        with pytest.raises(ConnectFailed, match="longer than"):
            await fetch_key_set(lister.url)


async def test_a_compressed_answer_is_not_unpacked():
    async with listing() as lister:
        lister.headers = {"Content-Encoding": "gzip"}
        with pytest.raises(ConnectFailed):
            await fetch_key_set(lister.url)


@pytest.mark.parametrize(
    "url",
    ["http://id.example/jwks", "file:///etc/passwd", "ftp://127.0.0.1/", "https://169.254.169.254/", "https://a:b@c/"],
)
async def test_an_unsafe_address_is_not_used(url: str):
    with pytest.raises(ConnectFailed, match="its address is not used"):
        await fetch_key_set(url)


async def test_nobody_there_is_a_failure():
    with pytest.raises(ConnectFailed, match="no answer"):
        await fetch_key_set("http://127.0.0.1:1/jwks")


async def test_a_server_that_never_answers_is_given_up():
    async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(ConnectFailed, match="no answer: TimeoutError"):
            await fetch_key_set(f"http://127.0.0.1:{port}/jwks", timeout=0.05)
    finally:
        for writer in held:
            writer.close()
        server.close()
        await server.wait_closed()
