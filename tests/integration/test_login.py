"""The command logs a person in at a server nobody here wrote, behind a login server nobody here wrote."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bascule.cli.json_output.running import LoginShape
from support import warm
from support.command import Ran, bascule, configured, entry, environment, started
from support.login_server import Browser, Guarded, guarded_server
from support.shapes import misfit
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("TRN-11")


@asynccontextmanager
async def at_home(folder: Path, **server: Any) -> AsyncGenerator[Guarded]:
    """A config that names a server behind a login, and one that needs none."""
    async with fail_after(120), guarded_server(**server) as guarded:
        configured(folder, notes={"url": guarded.url}, echo=entry("echo"))
        yield guarded


async def log_in(folder: Path, *options: str, browser: Browser | None = None) -> Ran:
    """Run `bascule login notes`, and be the person before the browser."""
    async with started(folder, "login", "notes", "--user", "alice", *options) as process:
        assert process.stderr is not None
        said = ""
        while (found := re.search(r"log in at:\n  (\S+)\n", said)) is None:
            line = await process.stderr.readline()
            assert line, f"no address was printed: {said}"
            said += line.decode()
        page = await (browser or Browser()).visit(found[1])
        assert "close this window" in page
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), said + err.decode())


def kept(folder: Path) -> dict[str, Any]:
    (path,) = (path for path in (folder / "state" / "keys").iterdir() if path.suffix not in {".lock", ".key"})
    assert path.stat().st_mode & 0o777 == 0o600
    return msgspec.json.decode(path.read_bytes())


@pytest.mark.long
async def test_a_login_on_the_command_line_leads_to_a_call(tmp_path: Path):
    async with at_home(tmp_path) as guarded:
        before = await bascule(tmp_path, "list", "--json", "--user", "alice")
        ran = await log_in(tmp_path, "--json")
        after = await bascule(tmp_path, "call", "notes_write", "text=hello", "--user", "alice")
        stranger = await bascule(tmp_path, "call", "notes_write", "text=never", "--user", "bob", "--json")
        diagnosis = await bascule(tmp_path, "doctor", "--json", "--user", "bob")
        login = kept(tmp_path)

    waiting, working = sorted(before.json["servers"], key=lambda server: server["name"], reverse=True)
    assert (waiting["state"], waiting["error"]["code"]) == ("needs-auth", "BSC-406")
    assert waiting["error"]["fix"] == "run `bascule login notes`"
    assert (working["state"], before.code) == ("ready", 0)
    assert ran.code == 0, ran.err
    assert misfit(ran.json, LoginShape) == ""
    assert ran.json["tools"] == 1
    assert (ran.json["user"], ran.json["issuer"], ran.json["state"]) == ("alice", guarded.login.issuer, "ready")
    assert after.code == 0, after.err
    assert guarded.notes == ["hello"]
    assert (stranger.code, stranger.json["code"], stranger.json["fix"]) == (3, "BSC-406", "run `bascule login notes`")
    checks = {check["subject"]: check for check in diagnosis.json["checks"]}
    assert checks["server notes"]["fix"] == "run `bascule login notes`"
    assert checks["server echo"]["status"] == "ok"
    for output in (ran, after, stranger):
        assert login["tokens"]["access"] not in output.out + output.err


@pytest.mark.long
async def test_a_person_who_says_no_ends_the_command(tmp_path: Path):
    async with at_home(tmp_path):
        ran = await log_in(tmp_path, browser=Browser(deny=True))

    assert ran.code == 3
    assert "BSC-407  the login was denied" in ran.err
    assert not (tmp_path / "state" / "keys").exists() or not [*(tmp_path / "state" / "keys").glob("oauth-*")]


@pytest.mark.long
async def test_nobody_coming_ends_the_command_too(tmp_path: Path):
    async with at_home(tmp_path):
        ran = await bascule(tmp_path, "login", "notes", "--timeout", "3", "--user", "alice")

    assert ran.code == 3
    assert "nobody has logged in within 3 s" in ran.err


@pytest.mark.long
async def test_logging_out_on_the_command_line(tmp_path: Path):
    async with at_home(tmp_path) as guarded:
        await log_in(tmp_path)
        ran = await bascule(tmp_path, "logout", "notes", "--user", "alice", "--json")
        after = await bascule(tmp_path, "call", "notes_write", "text=never", "--user", "alice")
        again = await bascule(tmp_path, "logout", "notes", "--user", "alice")
        revoked = await guarded.login.answered("/token/revocation")

    assert (ran.json["was_logged_in"], ran.json["revoked"], revoked) == (True, True, [200, 200])
    assert (after.code, again.out) == (3, "user alice was not logged in at notes\n")


@pytest.mark.long
async def test_a_revoked_login_needs_a_new_one_and_disturbs_no_other_server(tmp_path: Path):
    async with at_home(tmp_path) as guarded:
        await log_in(tmp_path)
        login = kept(tmp_path)
        client = login["client"]
        for token in (login["tokens"]["refresh"], login["tokens"]["access"]):
            await guarded.login.revoke(token, client["client_id"], client["secret"])
        refused = await bascule(tmp_path, "call", "notes_write", "text=never", "--user", "alice", "--json")
        listed = await bascule(tmp_path, "list", "--json", "--user", "alice")
        other = await bascule(tmp_path, "call", "echo_echo", "message=hi", "--user", "alice")
        again = await log_in(tmp_path)
        after = await bascule(tmp_path, "call", "notes_write", "text=hello", "--user", "alice")

    assert (refused.code, refused.json["code"], refused.json["fix"]) == (3, "BSC-406", "run `bascule login notes`")
    states = {server["name"]: server["state"] for server in listed.json["servers"]}
    assert states == {"notes": "needs-auth", "echo": "ready"}
    assert (other.code, again.code, after.code) == (0, 0, 0)
    assert guarded.notes == ["hello"]


RACER = """
import asyncio, json, sys
from bascule import Runtime

async def main():
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session("alice", sys.argv[1])
        print(json.dumps({"ready": True}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            outcome = await session.call("notes_write", {"text": line.strip()})
            print(json.dumps({"ok": hasattr(outcome, "text"), "told": str(outcome)[:300]}), flush=True)

asyncio.run(main())
"""


class Racer:
    """A process of its own that calls when it is told to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._in, self._out = process, process.stdin, process.stdout

    async def call(self, text: str) -> dict[str, Any]:
        self._in.write(f"{text}\n".encode())
        return await self.told()

    async def told(self) -> dict[str, Any]:
        return msgspec.json.decode(await self._out.readline())


@asynccontextmanager
async def racers(folder: Path, count: int) -> AsyncGenerator[list[Racer]]:
    pipe = asyncio.subprocess.PIPE
    made: list[Racer] = []
    try:
        for number in range(count):
            argv = (warm.python(), "-c", RACER, f"s-{number}")
            process = await asyncio.create_subprocess_exec(
                *argv, cwd=folder, env=environment(folder), stdin=pipe, stdout=pipe
            )
            made.append(Racer(process))
        for racer in made:
            await racer.told()
        yield made
    finally:
        for racer in made:
            racer.process.terminate()
            await racer.process.wait()


@pytest.mark.long
async def test_two_processes_renew_one_login_once_each_time(tmp_path: Path, scale: int):
    """This login server takes all tokens away when a refresh token is spent twice, so a second try would show twice."""
    rounds = 3 * scale
    async with at_home(tmp_path) as guarded:
        await log_in(tmp_path)
        async with racers(tmp_path, 2) as (one, two):
            await asyncio.gather(one.call("warm"), two.call("up"))
            for number in range(rounds):
                guarded.tired_of.add(kept(tmp_path)["tokens"]["access"])
                ends = await asyncio.gather(one.call(f"one {number}"), two.call(f"two {number}"))
                assert all(end["ok"] for end in ends), ends
        refreshes = await guarded.login.answered(grant="refresh_token")

    assert refreshes == [200] * rounds
    assert len(guarded.notes) == len(set(guarded.notes)) == 2 + 2 * rounds
