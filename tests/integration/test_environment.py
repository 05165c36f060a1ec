"""A parent environment full of secrets, and what a server started from it gets to see."""

import json
import sys
from pathlib import Path
from typing import Any

from bascule.sandbox.process.environment import SAFE_BASE
from support.command import bascule
from support.servers import argv

NAMES = [
    *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "NPM_TOKEN"),
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "SLACK_BOT_TOKEN", "STRIPE_SECRET_KEY", "DATABASE_URL", "PGPASSWORD"),
    *("SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "VAULT_TOKEN", "KUBECONFIG", "DOCKER_AUTH_CONFIG", "PASSWORD"),
    *("PYTHONPATH", "LD_LIBRARY_PATH", "NODE_OPTIONS", "HTTPS_PROXY", "BASH_ENV", "PATH_TO_SECRET", "HOMEKEY"),
    *(f"SERVICE_{number}_SECRET" for number in range(25)),
]

SECRETS = {name: f"s3cret-{number}-{name.lower()}" for number, name in enumerate(NAMES)}

LEAKING = "import os, sys; print(*os.environ.values(), sep='\\n', file=sys.stderr); sys.exit(1)"


def write(folder: Path, servers: dict[str, Any]) -> None:
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def mirror(**settings: Any) -> dict[str, Any]:
    program, *arguments = argv("mirror")
    return {"command": program, "args": arguments, **settings}


async def seen(folder: Path, server: str = "mirror") -> dict[str, Any]:
    """What a server's process can see of itself, when a command with all these secrets has started it."""
    ran = await bascule(folder, "call", f"{server}_look", "--json", env=SECRETS)
    assert ran.code == 0, ran.err
    portrait: dict[str, Any] = ran.json["structured"]
    portrait["env"].pop("LC_CTYPE", None)  # Python sets it for itself where the locale is plain C
    return portrait


def test_there_are_fifty_secrets():
    assert len(SECRETS) == 50


async def test_a_server_sees_none_of_its_parents_secrets(tmp_path: Path):
    write(tmp_path, {"mirror": mirror()})
    portrait = await seen(tmp_path)
    assert portrait["env"].keys() <= set(SAFE_BASE)
    assert "PATH" in portrait["env"]
    assert "s3cret" not in json.dumps(portrait)
    assert portrait["files"] == [0, 1, 2]


async def test_a_server_sees_what_was_configured_for_it_and_not_what_was_for_another(tmp_path: Path):
    write(tmp_path, {"mirror": mirror(env={"TOKEN": "${GITHUB_TOKEN}"}), "other": mirror()})
    configured = (await seen(tmp_path))["env"]
    assert configured.keys() - set(SAFE_BASE) == {"TOKEN"}
    assert configured["TOKEN"] == SECRETS["GITHUB_TOKEN"]
    assert "s3cret" not in json.dumps(await seen(tmp_path, "other"))


async def test_what_may_pass_is_named_or_matched_and_nothing_else_does(tmp_path: Path):
    write(
        tmp_path, {"mirror": mirror(**{"x-bascule": {"inherit_env": ["GITHUB_TOKEN", "AWS_SE*", "SERVICE_1?_SECRET"]}})}
    )
    passed = (await seen(tmp_path))["env"]
    wanted = {"GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    wanted |= {f"SERVICE_{number}_SECRET" for number in range(10, 20)}
    assert {name: passed[name] for name in passed.keys() - set(SAFE_BASE)} == {name: SECRETS[name] for name in wanted}


async def test_a_server_that_prints_its_secrets_as_it_dies_shows_none_of_them(tmp_path: Path):
    write(tmp_path, {"leak": {"command": sys.executable, "args": ["-c", LEAKING], "env": {"TOKEN": "${GITHUB_TOKEN}"}}})
    for command in (("list",), ("list", "--json"), ("doctor",), ("call", "leak_look")):
        ran = await bascule(tmp_path, *command, env=SECRETS)
        assert "exited with code 1" in ran.out + ran.err, command
        assert "s3cret" not in ran.out + ran.err, command
        assert "***" in ran.out + ran.err, command


async def test_what_a_server_inherits_is_hidden_as_well_when_it_dies(tmp_path: Path):
    entry = {"command": sys.executable, "args": ["-c", LEAKING], "x-bascule": {"inherit_env": ["GITHUB_TOKEN"]}}
    write(tmp_path, {"leak": entry})
    ran = await bascule(tmp_path, "list", env=SECRETS)
    assert "exited with code 1" in ran.out
    assert "s3cret" not in ran.out + ran.err
