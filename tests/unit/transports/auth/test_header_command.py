"""Headers that a program prints."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.errors import ConnectFailed, LoginNeeded
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.challenge import Challenge
from bascule.transports.auth import header_command
from bascule.transports.auth.header_command import GOOD_FOR, HeaderCommands, PrintedHeaders
from support.waiting import fail_after

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")
URL = "https://files.example/mcp"
CHALLENGE = Challenge()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def server(*argv: str, url: str = URL) -> ServerConfig:
    return ServerConfig("files", StreamableHttpTransport(url), headers_command=argv)


def printing(folder: Path, code: str) -> tuple[str, ...]:
    """A program that counts its runs in a file."""
    script = folder / "headers.py"
    script.write_text(f"import json, os, sys\nopen({str(folder / 'runs')!r}, 'a').write('x')\n{code}\n")
    return (sys.executable, str(script))


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


def made(folder: Path, code: str, mask: Mask | None = None, who: Principal = ALICE) -> tuple[PrintedHeaders, Clock]:
    clock = Clock()
    found = HeaderCommands({"PATH": "/usr/bin:/bin", "OUR_SECRET": "x"}).of(
        server(*printing(folder, code)), who, mask or Mask()
    )
    assert found is not None
    found._clock = clock  # pyright: ignore[reportPrivateUsage]
    return found, clock


TELL = "print(json.dumps({'Authorization': 'Bearer ' + os.environ['BASCULE_USER'], 'X-Env': json.dumps(dict(os.environ))}))"


async def test_it_is_told_for_whom_and_sees_nothing_else_of_our_environment(tmp_path: Path):
    headers, _ = made(tmp_path, TELL)
    assert headers.header() is None
    assert await headers.prepare() == headers.header() == "Bearer alice"
    seen = json.loads(headers.others["X-Env"])
    told = {name: value for name, value in seen.items() if name.startswith("BASCULE_")}
    assert told == {
        "BASCULE_USER": "alice",
        "BASCULE_SESSION": "s-1",
        "BASCULE_SERVER": "files",
        "BASCULE_URL": URL,
    }
    assert "OUR_SECRET" not in seen


async def test_what_it_printed_is_used_for_a_while_or_for_as_long_as_it_says(tmp_path: Path):
    headers, clock = made(tmp_path, "print(json.dumps({'X-Key': 'k'}))")
    await headers.prepare()
    clock.now += GOOD_FOR / 2
    assert (headers.header(), headers.others) == ("", {"X-Key": "k"})
    clock.now += GOOD_FOR
    assert headers.header() is None
    await headers.prepare()
    assert runs(tmp_path) == 2
    hinted, clock = made(tmp_path, "print(json.dumps({'X-Key': 'k', 'expires_in': 20}))")
    await hinted.prepare()
    assert hinted.others == {"X-Key": "k"}
    clock.now += 14
    assert hinted.header() == ""
    clock.now += 2
    assert hinted.header() is None


async def test_many_who_ask_at_once_have_it_run_once(tmp_path: Path):
    headers, _ = made(tmp_path, TELL)
    async with fail_after(30, "headers for all"):
        await asyncio.gather(*(headers.prepare() for _ in range(10)))
    assert runs(tmp_path) == 1


async def test_what_was_refused_is_printed_anew_once(tmp_path: Path):
    code = f"print(json.dumps({{'Authorization': 'Bearer %d' % os.stat({str(tmp_path / 'runs')!r}).st_size}}))"
    headers, _ = made(tmp_path, code)
    assert await headers.prepare() == "Bearer 1"
    await asyncio.gather(*(headers.renew("Bearer 1", CHALLENGE, again=False) for _ in range(5)))
    assert await headers.prepare() == "Bearer 2"
    with pytest.raises(LoginNeeded, match="refuses the headers"):
        await headers.renew("Bearer 2", CHALLENGE, again=True)
    with pytest.raises(LoginNeeded, match="more rights"):
        await headers.renew("Bearer 2", Challenge(error="insufficient_scope"), again=False)
    assert runs(tmp_path) == 2


async def test_so_it_is_where_none_of_them_is_an_authorization(tmp_path: Path):
    headers, clock = made(tmp_path, "print(json.dumps({'X-Key': 'k'}))")
    await headers.prepare()
    clock.now += 5
    for _ in range(3):
        await headers.renew("", CHALLENGE, again=False)
    assert runs(tmp_path) == 2


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("sys.exit(3)", "ended with 3"),
        ("print('no json')", "no JSON object"),
        ("print('[1]')", "no JSON object"),
        ("print('x' * 100000)", "more than 65536 bytes"),
        ("print(json.dumps({'A': 'x' * 100000}))", "more than 65536 bytes"),
        ("print(json.dumps({'A': 5}))", "headers.A: must be text"),
        ("print(json.dumps({'A': 'x\\r\\nB: y'}))", "without control characters"),
        ("print(json.dumps({'A': 'x\\0'}))", "without control characters"),
        ("print(json.dumps({'A\\r\\nB': 'x'}))", "no name for a header"),
        ("print(json.dumps({'': 'x'}))", "no name for a header"),
        ("print(json.dumps({'Host': 'evil.test'}))", "set by the transport"),
        ("print(json.dumps({'content-length': '5'}))", "set by the transport"),
        ("print(json.dumps({'Transfer-Encoding': 'chunked'}))", "set by the transport"),
        ("print(json.dumps({'Mcp-Session-Id': '5'}))", "set by the transport"),
        ("print(json.dumps({'MCP-Method': 'x'}))", "set by the transport"),
        ("print(json.dumps({'expires_in': 0}))", "expires_in"),
        ("print(json.dumps({'expires_in': 'soon'}))", "expires_in"),
        ("print(json.dumps({'expires_in': True}))", "expires_in"),
        ("print('{\"expires_in\": 1e999}')", "no JSON|expires_in"),
    ],
)
async def test_what_cannot_be_headers_is_told_and_none_of_it_is_sent(tmp_path: Path, code: str, told: str):
    headers, _ = made(tmp_path, code)
    with pytest.raises(ConnectFailed, match=told) as caught:
        await headers.prepare()
    assert caught.value.where == "files"
    assert (headers.header(), headers.others) == (None, {})


@pytest.mark.parametrize("printed", ["{'A': 'hunter2-hunter2'}", "{'headers': [{'A': 'hunter2-hunter2'}]}"])
async def test_its_last_words_are_told_without_what_it_printed(tmp_path: Path, printed: str):
    mask = Mask()
    code = f"print(json.dumps({printed})); print('bad: hunter2-hunter2', file=sys.stderr); sys.exit(1)"
    headers, _ = made(tmp_path, code, mask)
    with pytest.raises(ConnectFailed) as caught:
        await headers.prepare()
    assert caught.value.evidence == "bad: ***"
    assert "hunter2" not in str(vars(caught.value))
    assert mask.text("hunter2-hunter2") == "***"


async def test_one_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(header_command, "WITHIN", 0.5)
    headers, _ = made(tmp_path, "import time; print('secret', flush=True); time.sleep(100)")
    with pytest.raises(ConnectFailed, match="longer than") as caught:
        await headers.prepare()
    assert "secret" not in caught.value.evidence


async def test_one_that_is_not_there_is_told():
    headers = HeaderCommands({}).of(server("no-such-program"), ALICE, Mask())
    assert headers is not None
    with pytest.raises(ConnectFailed, match="not found"):
        await headers.prepare()


async def test_no_shell_reads_its_arguments(tmp_path: Path):
    argv = (*printing(tmp_path, "print(json.dumps({'A': sys.argv[1]}))"), "$HOME; `id` && x")
    headers = HeaderCommands({"PATH": "/usr/bin:/bin"}).of(server(*argv), ALICE, Mask())
    assert headers is not None
    await headers.prepare()
    assert headers.others == {"A": "$HOME; `id` && x"}


def test_each_principal_and_each_server_has_its_own_and_finds_it_again(monkeypatch: pytest.MonkeyPatch):
    commands, one = HeaderCommands({}), server("print-it")
    alice = commands.of(one, ALICE, Mask())
    assert commands.of(one, ALICE, Mask()) is alice
    others = [
        commands.of(one, BOB, Mask()),
        commands.of(one, Principal("alice", "s-2"), Mask()),
        commands.of(server("print-it", "twice"), ALICE, Mask()),
        commands.of(server("print-it", url="https://other.example/mcp"), ALICE, Mask()),
    ]
    assert len({id(each) for each in (alice, *others)}) == 5
    assert commands.of(ServerConfig("files", StreamableHttpTransport(URL)), ALICE, Mask()) is None
    monkeypatch.setattr(header_command, "MOST_KEPT", 5)
    commands.of(one, Principal("carol", "s-1"), Mask())
    assert commands.of(one, ALICE, Mask()) is not alice
