"""A config becomes a plan, or the reason why there is none."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import bascule
from bascule.config import ServerConfig, SseTransport, StdioTransport, StreamableHttpTransport, Timeouts
from bascule.config.model.transport import NoTransport, Transport
from bascule.core.errors import BasculeError, ConfigError
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.runtime.servers.link_plan import mask_of, plan_of
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Logins
from bascule.transports.auth.providers import Introducing
from bascule.upstream.connection_plan import ServerPlan
from bascule.upstream.server_requests import Reception
from bascule.wire.request_meta import CLIENT_INFO_KEY
from support.links import ALICE, a_key
from support.runtime import obeying, roster_of, running, stand_in
from support.servers import received
from support.waiting import fail_after


def plan(server: ServerConfig, folder: Path) -> ServerPlan | BasculeError:
    logins = Logins(Vault(folder), None, lambda: 0.0)
    return plan_of(
        server, Mask(), max_message=1000, reception=Reception({"roots": {}}), introducing=Introducing(logins)
    )


async def test_servers_are_told_who_we_are(log: Path):
    async with running(obeying(log)) as runtime:
        await roster_of(runtime).lease(a_key("work"))

    info = received(log)[1]["params"]["_meta"][CLIENT_INFO_KEY]
    assert (info["name"], info["version"]) == ("bascule", bascule.__version__)


@pytest.mark.parametrize(
    ("transport", "era"),
    [(SseTransport("http://localhost/sse"), "old"), (StreamableHttpTransport("http://localhost/mcp"), "auto")],
)
def test_http_with_sse_ended_before_the_new_era_began(tmp_path: Path, transport: Transport, era: str):
    made = plan(ServerConfig("work", transport, timeouts=Timeouts(connect=7, close=2)), tmp_path)

    assert isinstance(made, ServerPlan)
    assert (made.terms.era, made.terms.connect, made.terms.close) == (era, 7, 2)
    assert made.terms.capabilities == {"roots": {}}


def test_a_server_that_cannot_be_used_has_its_reason_for_a_plan(tmp_path: Path):
    reason = ConfigError("TOKEN is not set")

    assert plan(ServerConfig("work", NoTransport("http"), unavailable_reason=reason), tmp_path) is reason


def test_what_a_server_is_given_in_secret_is_masked():
    server = ServerConfig("work", StdioTransport("npx", env={"TOKEN": "very-secret-token"}))

    assert "very-secret-token" not in str(mask_of(server).error(ConfigError("it said very-secret-token")))


async def test_what_a_server_says_on_stderr_reaches_its_log(tmp_path: Path):
    said: list[tuple[str, str, bool, str]] = []

    def listen(server: str, principal: Principal, pid: int, line: str) -> None:
        said.append((server, principal.user_id, pid > 0, line))

    server = stand_in("work", "failing", 3, "no key hunter-22\nand no lock")
    assert isinstance(server.transport, StdioTransport)
    server = replace(server, transport=replace(server.transport, env={"KEY": "hunter-22"}))
    logins = Logins(Vault(tmp_path), None, lambda: 0.0)
    made = plan_of(
        server, Mask(), max_message=1000, reception=Reception(), introducing=Introducing(logins), said=listen
    )
    assert isinstance(made, ServerPlan)
    dialled = made.dial(ALICE)
    async with fail_after(20):
        await dialled.open()
        await asyncio.shield(dialled.lost)
        await dialled.close(1.0)

    assert said == [("work", "alice", True, "no key ***"), ("work", "alice", True, "and no lock")]


@pytest.mark.parametrize(("lifetime", "offered"), [("session", {"roots": {}}), ("call", {"roots": {}}), ("shared", {})])
def test_on_a_link_that_everyone_uses_no_server_may_ask_anything(
    lifetime: Any, offered: dict[str, Any], tmp_path: Path
):
    server = ServerConfig(name="x", transport=StdioTransport("x"), lifetime=lifetime, stateless=True)
    reception = Reception(offered={"roots": {}})
    introducing = Introducing(Logins(Vault(tmp_path), None, lambda: 0.0))
    plan = plan_of(server, Mask(), max_message=1000, reception=reception, introducing=introducing)
    assert isinstance(plan, ServerPlan)
    assert plan.terms.offered == offered
