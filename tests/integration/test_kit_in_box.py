"""Servers of the kit in real boxes: they know who asks, raise through a socket that can do nothing else, and can speak
as nobody else."""

import asyncio
import base64
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import Outcome, Runtime, ToolFailure, ToolResult
from bascule.config import ServerConfig, StdioTransport
from bascule.config.model.sandbox import Sandbox
from bascule.core.errors import NotIdentified
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.identity.jwt.claims import AT_SPAWN
from bascule.identity.jwt.minting import ISSUER, KIND, LIFE, Mint
from bascule.sandbox.raise_socket import RaiseProvision
from support.bwrap import skip_without_bubblewrap
from support.docker import reached
from support.tokens import part, token
from support.waiting import fail_after

pytestmark = pytest.mark.long

SERVER = Path(__file__).parents[1] / "servers/kit_boxed.py"
PERMISSIONS: Any = {
    "who": ("read",),
    "keep": ("write",),
    "salaries": ("read",),
    "publish": ("connect",),
    "said": ("read",),
    "found": ("read",),
}
HERE = "http://127.0.0.1:8000/mcp"


@contextmanager
def made_by(engine: str) -> Generator[None]:
    if engine == "docker":
        with reached():
            yield
        return
    skip_without_bubblewrap()
    yield


@pytest.fixture(params=["bubblewrap", "docker"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    with made_by(request.param):
        monkeypatch.setenv("BASCULE_SANDBOX", request.param)
        yield request.param


@pytest.fixture
def bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """For what is no matter of how a box is made."""
    with made_by("bubblewrap"):
        monkeypatch.setenv("BASCULE_SANDBOX", "bubblewrap")
        yield "bubblewrap"


@asynccontextmanager
async def running(engine: Any, **more: Any) -> AsyncGenerator[Runtime]:
    config = ServerConfig(
        name="boxed",
        transport=StdioTransport(command=sys.executable, args=(str(SERVER),)),
        kit=True,
        permissions=PERMISSIONS,
        sandbox=Sandbox(engine=engine),
        **more,
    )
    async with fail_after(150), Runtime.from_servers({"boxed": config}) as runtime:
        yield runtime


def given(outcome: Outcome) -> Any:
    assert isinstance(outcome, ToolResult), outcome
    structured = outcome.structured
    return structured["result"] if structured is not None and structured.keys() == {"result"} else structured


def state() -> Path:
    return Path(os.environ["BASCULE_HOME"])


async def test_it_knows_who_asks_speaks_as_nobody_else_and_its_raise_closes_its_own_box_for_good(engine: str):
    """One story of two agent sessions: each of their boxes takes seconds to start."""
    mint = Mint.of(state())
    async with running(engine) as runtime:
        await knows_who_asks_where_it_is_and_their_files(runtime)
        await can_speak_as_nobody_else(runtime, mint)
        await raises_itself_and_goes_on_in_a_tighter_box(runtime)
    async with running(engine) as later:
        await is_still_raised(later)


async def knows_who_asks_where_it_is_and_their_files(runtime: Runtime) -> None:
    for user in ("alice", "bob"):
        session = runtime.session(user, "s-1")
        assert given(await session.call("boxed_who")) == {
            "user": user,
            "session": "s-1",
            "lane": "open",
            "level": "PUBLIC",
            "place": "/workspace/a",
        }
        session.workspace.write_text("from outside", "x")
        assert given(await session.call("boxed_keep", {"path": "d/f", "text": user})) == ["d", "from outside"]
        assert session.workspace.read_text("/workspace/d/f") == user
        assert [entry.name for entry in session.workspace.list()] == ["d", "from outside"]


async def raises_itself_and_goes_on_in_a_tighter_box(runtime: Runtime) -> None:
    """Without a word of trust: what raises is the socket."""
    alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-1")
    assert given(await alice.call("boxed_publish", {"text": "a"})) == "published a"
    assert given(await bob.call("boxed_who"))["lane"] == "open"

    outcome = await alice.call("boxed_salaries")

    assert given(outcome) == [3, 1, 2]
    assert str(outcome.lane) == "proxied"
    (receipt,) = alice.receipts
    assert (receipt.after, receipt.cause.by) == (DataSensitivity.CONFIDENTIAL, "dataset")
    assert (receipt.cause.server, receipt.cause.dataset) == ("boxed", "salaries")
    told = given(await alice.call("boxed_who"))
    assert (told["lane"], told["level"]) == ("proxied", "CONFIDENTIAL")
    # There is nowhere to publish to.
    assert given(await alice.call("boxed_publish", {"text": "3, 1, 2"})) == "published 3, 1, 2"

    assert given(await alice.call("boxed_salaries", {"dataset": "pins", "sensitivity": "secret"})) == [3, 1, 2]
    assert given(await alice.call("boxed_who"))["lane"] == "sealed"
    # Another one is where he was.
    told = given(await bob.call("boxed_who"))
    assert (told["lane"], told["level"], bob.sensitivity.name) == ("open", "PUBLIC", "PUBLIC")


async def is_still_raised(runtime: Runtime) -> None:
    told = given(await runtime.session("alice", "s-1").call("boxed_who"))
    assert (told["lane"], told["level"]) == ("sealed", "SECRET")


async def test_the_socket_can_do_nothing_else(bubblewrap: str):
    async with running(bubblewrap) as runtime:
        alice, bob = runtime.session("alice", "s-1"), runtime.session("bob", "s-1")
        await bob.begin()
        given(await alice.call("boxed_salaries", {"sensitivity": "secret"}))
        assert json.loads(given(await alice.call("boxed_said", {"line": '{"ask": "level"}'}))) == {"level": "secret"}
        lower = {"raise": {"dataset": "salaries", "sensitivity": "public"}}
        told = given(await alice.call("boxed_said", {"line": json.dumps(lower)}))
        assert json.loads(told) == {"level": "secret"}
        for line in (
            '{"lower": {"sensitivity": "public"}}',
            '{"ask": "level", "principal": {"user_id": "bob", "session_id": "s-1"}}',
            '{"raise": {"dataset": "a", "sensitivity": "secret", "principal": "bob/s-1"}}',
            '{"raise": {"dataset": "\\u001b[2J", "sensitivity": "secret"}}',
            "x" * 100,
        ):
            assert "error" in json.loads(given(await alice.call("boxed_said", {"line": line})))
        assert (alice.sensitivity.name, bob.sensitivity.name) == ("SECRET", "PUBLIC")


def forged(mark: str, own: str) -> list[str]:
    """What can be made of what a box holds, for Bob."""
    made: list[str] = []
    head, _, seal = own.split(".")
    for audience in (AT_SPAWN, HERE):
        now = int(time.time())
        body = {"iss": ISSUER, "aud": audience, "sub": "bob", "session_id": "s-2", "iat": now, "exp": now + int(LIFE)}
        keys = (mark.encode(), base64.urlsafe_b64decode(f"{mark}="), own.encode(), secrets.token_bytes(32))
        made += [token(body, algorithm="HS256", key=key, more={"typ": KIND}) for key in keys]
        made += [Mint(secrets.token_bytes(32)).token(Principal("bob", "s-2"), audience), f"{head}.{part(body)}.{seal}"]
    return made


async def can_speak_as_nobody_else(runtime: Runtime, mint: Mint) -> None:
    key = (state() / "keys/minting.key").read_bytes().hex()
    seen = given(await runtime.session("alice", "s-1").call("boxed_found", {"state": str(state()), "key": key}))

    # What tools, and what they start, find: nothing to speak with. One of Docker's carries a mark to be found by.
    assert [name for name in seen["environment"] if name != "BASCULE_RUN"] == [
        "BASCULE_LANE",
        "BASCULE_RAISE_DESCRIPTOR",
        "BASCULE_RAISE_SOCKET",
        "BASCULE_WORKSPACE",
    ]
    # Nor is there more of it where the process began, than what is its own.
    started = seen["started with"]
    assert {name for name in started if name.startswith("BASCULE")} - {"BASCULE_RUN"} == {
        "BASCULE_LANE",
        "BASCULE_RAISE_DESCRIPTOR",
        "BASCULE_RAISE_SOCKET",
        "BASCULE_WORKSPACE",
        "BASCULE_TOKEN",
        "BASCULE_TOKEN_KEY",
    }
    assert str(state()) not in json.dumps(started)
    assert (seen["state"], seen["keys"]) == (False, [])

    own, mark = started["BASCULE_TOKEN"], started["BASCULE_TOKEN_KEY"]
    assert (await mint.verifier(AT_SPAWN).verify(own)).principal.user_id == "alice"
    with pytest.raises(NotIdentified):
        await mint.verifier(HERE).verify(own)
    for each in forged(mark, own):
        for audience in (AT_SPAWN, HERE):
            with pytest.raises(NotIdentified):
                await mint.verifier(audience).verify(each)


async def test_where_the_socket_leads_nowhere_nothing_private_is_given_out(bubblewrap: str):
    """Whoever keeps the level has stopped to answer. That must never look like nothing private."""
    async with running(bubblewrap) as runtime:
        session = runtime.session("alice", "s-1")
        given(await session.call("boxed_who"))
        assert runtime._boxes is not None
        for provision in runtime._boxes.boxing.provisions:
            if isinstance(provision, RaiseProvision):
                await asyncio.gather(*(made.close() for made in provision._open.values()))

        refused = await session.call("boxed_publish", {"text": "x"})
        assert isinstance(refused, ToolFailure)
        assert "cannot be told how private" in refused.message
        withheld = await session.call("boxed_salaries")
        assert isinstance(withheld, ToolFailure)
        assert "3" not in withheld.message
