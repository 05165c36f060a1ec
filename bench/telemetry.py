"""Benchmark of telemetry: the cost of metrics and of exported spans per call. Calls are of an in-process function, so
that little else is measured; the cost is the difference between runtimes that are measured in turns, and a collector in
another process discards the spans."""

import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from os import environ
from statistics import median

from bascule import Runtime
from bascule.config import RuntimeConfig, TelemetrySettings
from bascule.runtime.python_tools import native_server
from bascule.runtime.session import AgentSession
from bench.result import Goal, Report, Row

COUNT, ROUNDS = 2_000, 15

COLLECTOR = """
import http.server

class Taker(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
print(server.server_port, flush=True)
server.serve_forever()
"""


def act() -> str:
    """Do nothing."""
    return "done"


async def run(report: Report) -> None:
    collector = subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True)
    assert collector.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(collector.stdout.readline())}"
        with tempfile.TemporaryDirectory() as folder:
            environ["BASCULE_HOME"] = folder
            await _compare(report, url)
    finally:
        collector.terminate()
        collector.wait()


async def _compare(report: Report, url: str) -> None:
    settings = {
        "none": TelemetrySettings(),
        "metrics": TelemetrySettings(prometheus="127.0.0.1:19464"),
        "spans": TelemetrySettings(otlp=url),
    }
    async with AsyncExitStack() as stack:
        sessions = {name: await _session(stack, each) for name, each in settings.items()}
        spent: dict[str, list[tuple[float, float]]] = {name: [] for name in sessions}
        for _ in range(ROUNDS):
            for name, session in sessions.items():
                spent[name].append(await _calls(session))
    base, counted, traced = ([loop for loop, _ in spent[name]] for name in settings)
    whole = median(both for _, both in spent["spans"]) - median(both for _, both in spent["none"])
    report.add(
        "telemetry, a call",
        [
            Row("a call without it", median(base), "µs"),
            Row("added by metrics", median(counted) - median(base), "µs", Goal("at most", 10)),
            Row(
                "added by metrics and spans, where calls wait", median(traced) - median(base), "µs", Goal("at most", 30)
            ),
            Row("the same with the thread that sends them", whole, "µs"),
            Row("a call with spans to one without telemetry", median(traced) / median(base), "x"),
        ],
    )


async def _session(stack: AsyncExitStack, settings: TelemetrySettings) -> AgentSession:
    config = RuntimeConfig({"own": native_server("own", [act])}, telemetry=settings)
    runtime = await stack.enter_async_context(Runtime(config))
    session = runtime.session("alice", "s-1")
    await _calls(session)
    return session


async def _calls(session: AgentSession) -> tuple[float, float]:
    """Microseconds a call: of the loop's own thread, and of the whole process."""
    own, whole = time.thread_time(), time.process_time()
    for turn in range(COUNT):
        if turn % 64 == 0:
            await asyncio.sleep(0)
        assert (await session.call("own_act")).ok
    return (time.thread_time() - own) / COUNT * 1e6, (time.process_time() - whole) / COUNT * 1e6
