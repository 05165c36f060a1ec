"""How a link is kept up, as an operator says it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.config import Heartbeat, Limits, Restart, ServerConfig, StdioTransport, load_file
from bascule.core.errors import ConfigError

WRITTEN = """
mcp_servers:
  files:
    command: npx
    lifetime: shared
    stateless: true
    idempotent: [put_*, "${TOOL}"]
    heartbeat: {interval: 1, stale_after: 2.5}
    restart: {attempts: 3, backoff: 0.5}
    limits: {concurrent: 2, per_minute: 60, bytes_per_minute: 1MiB}
links: {max: 7}
"""


def load(folder: Path, text: str) -> ServerConfig:
    file = folder / "bascule.yaml"
    file.write_text(text)
    return load_file(file, {"TOOL": "set_status"}).servers["files"]


def test_every_key_is_read(tmp_path: Path):
    server = load(tmp_path, WRITTEN)

    assert (server.lifetime, server.stateless) == ("shared", True)
    assert server.idempotent == ("put_*", "set_status")
    assert server.heartbeat == Heartbeat(1, 2.5)
    assert server.restart == Restart(3, 0.5)
    assert server.limits == Limits(2, 60, 1024**2)
    assert load_file(tmp_path / "bascule.yaml", {}).links_max == 7


def test_left_out_they_have_their_defaults(tmp_path: Path):
    server = load(tmp_path, "mcp_servers: {files: {command: npx}}")

    assert server == ServerConfig("files", StdioTransport("npx"))
    assert server.heartbeat == Heartbeat(30, 90)
    assert server.restart == Restart(5, 2)
    assert server.limits == Limits(16, None, None)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("lifetime: shared", "lifetime: shared lets everyone use one link, so it needs `stateless: true`"),
        ("lifetime: sesion", 'lifetime: must be one of call, session, shared; did you mean "session"'),
        ("heartbeat: {interval: 9, stale_after: 3}", "heartbeat.stale_after: must not be shorter than the `interval`"),
        ("heartbeat: {interval: 0}", "heartbeat.interval: must be a number of seconds above 0"),
        ("restart: {attempts: 0}", "restart.attempts: must be a whole number above 0"),
        ("limits: {concurrent: many}", "limits.concurrent: must be a whole number above 0"),
        ('idempotent: [""]', "idempotent[0]: must be text, and not empty"),
        ("stateless: 1", "stateless: must be true or false"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(tmp_path: Path, written: str, told: str):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"mcp_servers:\n  files:\n    command: npx\n    {written}\n")

    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(f"{tmp_path}/bascule.yaml:4: mcp_servers.files.{told}")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Heartbeat(10, 5), "stale_after"),
        (lambda: Heartbeat(0, 5), "interval"),
        (lambda: Restart(True), "attempts"),
        (lambda: Restart(2, -1), "backoff"),
        (lambda: Limits(0), "concurrent"),
        (lambda: Limits(per_minute=0), "per_minute"),
        (lambda: Limits(bytes_per_minute=-1), "bytes_per_minute"),
        (lambda: ServerConfig("a", StdioTransport("a"), lifetime="shared"), "lifetime"),
        (lambda: ServerConfig("a", StdioTransport("a"), idempotent="put"), "idempotent"),  # type: ignore[arg-type]
    ],
)
def test_the_same_holds_in_code(make: Callable[[], object], told: str):
    with pytest.raises(ConfigError, match=told):
        make()


def test_a_limit_that_is_none_is_no_limit():
    assert Limits(concurrent=None).concurrent is None
