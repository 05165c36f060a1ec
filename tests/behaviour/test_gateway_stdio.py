"""The gateway as a command that an MCP client starts, and speaks to over stdin and stdout."""

import asyncio
import getpass
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from support.command import bascule, environment
from support.peers import clock
from support.scenarios import entry, write_yaml
from support.servers import methods
from support.stdio_clients import INTRODUCTION, as_command, talking, words_of
from support.waiting import fail_after, until

pytestmark = pytest.mark.requirement("GTW-1")

ACT = "work_act"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
@pytest.mark.long
async def test_the_official_client_is_served_in_every_mode_whatever_the_servers_speak(tmp_path: Path, mode: Any):
    command, *args = clock()
    servers = {
        "clock": {"command": command, "args": args},
        "old": entry("old"),
        "work": entry("obeying", tmp_path / "log"),
    }
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with (
        fail_after(90, "the official client"),
        as_command(tmp_path, servers) as command,
        Client(command, mode=mode) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        time = await client.call_tool("clock_get_current_time", {"timezone": "UTC"})
        old = await client.call_tool("old_echo", {"message": "hi"})
        new = await client.call_tool(ACT, {"progress": [1, 2]}, progress_callback=on_progress)
        wrong = await client.call_tool("clock_get_current_time", {"timezone": 5})
        many: list[Any] = await asyncio.gather(*(client.call_tool(ACT, {"n": n}) for n in range(10)))
    assert names[:2] == ["clock_get_current_time", "clock_convert_time"]
    assert {"old_echo", ACT} <= set(names)
    assert [time.is_error, old.is_error, new.is_error, wrong.is_error] == [False, False, False, True]
    assert told[-1] == 2
    assert [json.loads(each.content[0].text) for each in many] == [{"n": n} for n in range(10)]


async def test_the_config_shown_for_clients_is_one_that_works(tmp_path: Path):
    page = (Path(__file__).parents[2] / "docs/gateway.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    named = json.loads(shown)["mcpServers"]["bascule"]
    at = named["args"].index("--config")
    assert named["command"] == "bascule"
    async with talking(tmp_path, *named["args"][at + 2 :]) as talk:
        assert "result" in await talk.ask("tools/list")
    assert named["args"][:at] == ["serve", "--stdio"]
    assert "session desktop" in words_of(tmp_path)


async def test_a_client_may_probe_first_and_then_speak_either_era(tmp_path: Path):
    async with talking(tmp_path) as talk:
        found = await talk.ask("server/discover")
        assert found["result"]["supportedVersions"] == ["2026-07-28"]
        assert (await talk.ask("tools/list"))["result"]["resultType"] == "complete"
        assert (await talk.introduce())["protocolVersion"] == INTRODUCTION["protocolVersion"]
        assert "resultType" not in (await talk.ask("tools/list", new=False))["result"]
        future = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}
        assert (await talk.ask("tools/list", future))["error"]["code"] == -32022


async def test_whoever_starts_it_is_the_user_and_that_is_said_on_stderr(tmp_path: Path):
    async with talking(tmp_path) as talk:
        await talk.ask("tools/call", {"name": ACT})
        assert await talk.hang_up() == (0, [])
    assert f"user {getpass.getuser()}, session stdio, without a token" in words_of(tmp_path)
    audited = await bascule(tmp_path, "audit", "show", "--user", getpass.getuser(), "--session", "stdio", "--json")
    assert "ended" in {record["kind"] for record in audited.json["records"]}


async def test_its_agent_session_can_be_named_and_is_still_private_when_it_is_started_anew(tmp_path: Path):
    label = {"result": {"content": [], "_meta": {"dev.bascule/labels": ["secret"]}}}
    work = entry("obeying", tmp_path / "log", trust=["labels"], sandbox="none")
    for refused in (False, True):
        async with talking(tmp_path, "--user", "eve", "--session", "e-1", servers={"work": work}) as talk:
            answer = await talk.ask("tools/call", {"name": ACT, "arguments": label})
            assert answer["result"].get("isError", False) is refused, answer
    assert len([method for method in methods(tmp_path / "log") if method == "tools/call"]) == 1


@pytest.mark.parametrize("new", [True, False])
async def test_a_request_that_is_taken_back_is_taken_back_at_its_server_and_never_answered(tmp_path: Path, new: bool):
    async with talking(tmp_path) as talk:
        await talk.ask("tools/list", new=new)
        arguments = {"silent": True, "progress": [1]}
        number = await talk.begin(
            "tools/call", {"name": ACT, "arguments": arguments, "_meta": {"progressToken": "p"}}, new=new
        )
        assert (await talk.hear())["params"] == {"progressToken": "p", "progress": 1}
        await talk.say({"method": "notifications/cancelled", "params": {"requestId": number}})
        await until(lambda: "notifications/cancelled" in methods(tmp_path / "log"))
        assert "result" in await talk.ask("tools/list", new=new)
        assert talk.unasked == []


async def test_a_slow_request_holds_up_no_other(tmp_path: Path):
    servers = {name: entry("obeying", tmp_path / name) for name in ("slow", "quick")}
    async with talking(tmp_path, servers=servers) as talk:
        slow = await talk.begin("tools/call", {"name": "slow_act", "arguments": {"silent": True}})
        assert "result" in await talk.ask("tools/call", {"name": "quick_act"})
        await talk.say({"method": "notifications/cancelled", "params": {"requestId": slow}})


async def test_the_end_of_input_leaves_time_for_what_is_under_way(tmp_path: Path):
    async with talking(tmp_path) as talk:
        number = await talk.begin("tools/call", {"name": ACT, "arguments": {"sleep": 0.3}})
        code, last = await talk.hang_up()
    assert code == 0
    assert [message["id"] for message in last] == [number]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_also_in_mid_call(tmp_path: Path, number: signal.Signals):
    async with talking(tmp_path) as talk:
        await talk.ask("tools/list")
        await talk.begin("tools/call", {"name": ACT, "arguments": {"silent": True}})
        await until(lambda: "tools/call" in methods(tmp_path / "log"))
        talk.process.send_signal(number)
        assert await talk.process.wait() == 0
    assert "notifications/cancelled" in methods(tmp_path / "log")


async def test_a_client_that_is_gone_in_mid_call_leaves_nothing_behind(tmp_path: Path):
    reading, writing = os.pipe()
    async with talking(tmp_path, stdout=writing) as talk:
        os.close(writing)
        await talk.begin("tools/call", {"name": ACT, "arguments": {"silent": True}})
        await until(lambda: "tools/call" in methods(tmp_path / "log"))
        os.close(reading)
        assert await talk.process.wait() == 0
    assert "notifications/cancelled" in methods(tmp_path / "log")


@pytest.mark.long
async def test_nothing_but_the_protocol_is_on_stdout(tmp_path: Path):
    """Whatever a library prints, to Python's stdout or to the descriptor itself."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os\n"
        "atexit.register(print, 'printed at the end')\n"
        "import bascule.gateway.mcp.handler as desk\n"
        "serve = desk.Desk.serve\n"
        "async def chatty(self, asked, client=None):\n"
        "    print('stray print', flush=True)\n"
        "    os.write(1, b'stray write\\n')\n"
        "    return await serve(self, asked, client)\n"
        "desk.Desk.serve = chatty\n"
    )
    before = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{before}")
        async with talking(tmp_path) as talk:
            assert "result" in await talk.ask("tools/list")
            assert talk.unasked == []
            assert await talk.hang_up() == (0, [])
    assert all(f"stray {what}" in words_of(tmp_path) for what in ("print", "write"))
    assert "printed at the end" in words_of(tmp_path)


@pytest.mark.long
async def test_it_starts_without_a_web_server(tmp_path: Path):
    program = (
        "import sys, bascule.cli.main as cli, atexit\n"
        "heavy = ('uvicorn', 'mcp', 'mcp_types', 'pydantic', 'aiohttp', 'starlette', 'fastmcp', 'rich')\n"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules], file=sys.stderr))\n"
        f"sys.exit(cli.main(['serve', '--stdio', '--config', {str(write_yaml(tmp_path, {}))!r}]))\n"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program),
        env=environment(tmp_path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INTRODUCTION}
    async with fail_after(60, "a start"):
        out, err = await process.communicate(json.dumps(asked).encode())
    assert json.loads(out)["result"]["serverInfo"]["name"] == "bascule"
    assert err.decode().splitlines()[-1] == "[]"


@pytest.mark.requirement("GTW-4")
class TestWhatNoClientSends:
    async def test_junk_is_answered_as_such_and_disturbs_nothing(self, tmp_path: Path):
        async with talking(tmp_path) as talk:
            for junk, code in (
                (b"\xff\xfe\x00\x01", -32700),
                (b"{", -32700),
                (b"[" * 5000, -32700),
                (b"[]", -32600),
                (b'"text"', -32600),
                (b"{}", -32600),
                (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                (b'{"jsonrpc":"2.0","id":1,"method":"ping","id":2}', -32600),
                (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}}', -32600),
                (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                (b'{"jsonrpc":"2.0","id":1,"method":"fly"}', -32601),
            ):
                await talk.write(junk + b"\n")
                assert (await talk.hear())["error"]["code"] == code, junk
            # What is nobody's request is nobody's answer.
            for silent in (
                b"",
                b"  ",
                b'{"jsonrpc":"2.0","id":9,"result":{}}',
                b'{"jsonrpc":"2.0","method":"x","params":3}',
            ):
                await talk.write(silent + b"\n")
            assert "result" in await talk.ask("tools/call", {"name": ACT})
            assert talk.unasked == []

    async def test_a_message_in_pieces_is_a_message(self, tmp_path: Path):
        async with talking(tmp_path) as talk:
            await talk.ask("tools/list")
            line = b'{"jsonrpc": "2.0", "id": "half", "method": "ping"}\n'
            for at in range(len(line)):
                await talk.write(line[at : at + 1])
            assert await talk.hear() == {"jsonrpc": "2.0", "id": "half", "result": {}}

    @pytest.mark.long
    async def test_a_message_that_never_ends_is_passed_over_and_held_by_nobody(self, tmp_path: Path):
        piece = b"x" * (1 << 20)
        async with talking(tmp_path) as talk:
            await talk.ask("tools/list")
            before = _memory(talk.process.pid)
            await talk.write(b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"work_act","arguments":{"a":"')
            for _ in range(100):
                await talk.write(piece)
            await talk.write(b'"}},"id":77}\n')
            answer = await talk.answer_to(77)
            assert (answer["error"]["code"], "8388608 bytes" in answer["error"]["message"]) == (-32600, True)
            assert "result" in await talk.ask("tools/call", {"name": ACT})
            assert _memory(talk.process.pid) - before < 64 << 20
        assert len([method for method in methods(tmp_path / "log") if method == "tools/call"]) == 1

    @pytest.mark.long
    async def test_ten_thousand_requests_at_once_are_all_answered(self, tmp_path: Path):
        work = entry("obeying", tmp_path / "log", limits={"concurrent": 1000})
        many = 10_000
        async with talking(tmp_path, servers={"work": work}) as talk:
            await talk.ask("tools/list")

            async def pour() -> None:
                for n in range(many):
                    params = {"name": ACT, "arguments": {"n": n}}
                    await talk.say({"id": f"p{n}", "method": "tools/call", "params": params})

            pouring = asyncio.ensure_future(pour())
            answers = {message["id"]: message for message in [await talk.hear() for _ in range(many)]}
            await pouring
        assert len(answers) == many
        told = {json.loads(each["result"]["content"][0]["text"])["n"] for each in answers.values()}
        assert told == set(range(many))

    @pytest.mark.long
    async def test_a_client_that_never_reads_is_held_off_and_ends_like_any_other(self, tmp_path: Path):
        big = {"name": ACT, "arguments": {"result": {"content": [{"type": "text", "text": "x" * 100_000}]}}}
        poured: list[int] = []
        reading, writing = os.pipe()
        async with talking(tmp_path, stdout=writing) as talk:
            os.close(writing)
            await talk.begin("tools/call", {"name": ACT})
            await until(lambda: "tools/call" in methods(tmp_path / "log"))
            before = _memory(talk.process.pid)

            async def pour() -> None:
                while True:
                    poured.append(await talk.begin("tools/list" if len(poured) % 50 else "tools/call", big))

            pouring = asyncio.ensure_future(pour())
            # It is not let on for ever: from some moment on no more is taken.
            await until(_steady(poured))
            assert not pouring.done()
            assert _memory(talk.process.pid) - before < 200 << 20
            pouring.cancel()
            talk.process.send_signal(signal.SIGTERM)
            assert await talk.process.wait() == 0
        os.close(reading)


def _steady(poured: list[int]) -> Callable[[], bool]:
    """Whether nothing was added over many looks."""
    seen: list[int] = []

    def look() -> bool:
        seen.append(len(poured))
        return len(poured) > 10 and seen[-100:] == [len(poured)] * 100

    return look


def _memory(pid: int) -> int:
    """Bytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
