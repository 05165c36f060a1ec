"""Compatibility with the state, the lock, the config and the images that version 0.1.0 wrote: `tests/fixtures/v0.1.0`."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bascule
from support.bwrap import skip_without_bubblewrap
from support.command import started
from support.docker import DockerEngine, engine_of_its_own
from support.fake_login import fake_login
from support.old_client import old_client
from support.ports import free_port
from support.recorded import (
    FIXTURE,
    PYTHON_ON_PATH,
    Recorded,
    differences,
    image_fits,
    kept_login,
    line_with,
    moved_layer,
    recorded,
    values_of,
)
from support.waiting import fail_after

pytestmark = pytest.mark.long


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    """The recorded state with each store."""
    if request.param == "sqlite":
        return recorded(tmp_path, "sqlite")
    return recorded(tmp_path, "postgres", request.getfixturevalue("database"))


@pytest.fixture
def sqlite_state(tmp_path: Path) -> Recorded:
    """What does not depend on the store is recorded with SQLite alone."""
    return recorded(tmp_path, "sqlite")


def of(user: str, session: str) -> tuple[str, ...]:
    return ("--user", user, "--session", session)


def without_words(session: dict[str, Any]) -> dict[str, Any]:
    """Doubt is a sentence for a person, which may be worded anew: that there is one must stay."""
    return {**session, "doubt": bool(session["doubt"])}


def in_order(sessions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(map(without_words, sessions), key=lambda each: (each["user"], each["session"]))


async def shown(old: Recorded, user: str, session: str) -> dict[str, Any]:
    return await old.json("sessions", "show", *of(user, session))


# Levels


async def test_reads_the_levels_of_every_session(old: Recorded):
    found = await old.json("sessions")

    wanted = old.expected["sessions"]["sessions"]
    assert {each["level"] for each in wanted} == {"public", "internal", "confidential", "secret"}
    assert differences(in_order(found["sessions"]), in_order(wanted)) == []


async def test_reads_the_receipts_of_every_session(old: Recorded):
    wanted = old.expected["shown"]
    found = [await shown(old, each["user"], each["session"]) for each in wanted]

    causes = {receipt["cause"]["by"] for each in wanted for receipt in each["receipts"]}
    assert causes == {"raises rule", "label", "dataset", "operator operator"}
    assert differences([without_words(each) for each in found], [without_words(each) for each in wanted]) == []


async def test_a_secret_session_is_served_by_the_twin_or_refused(old: Recorded):
    twin = await old.json("call", "notes_add", "text=later", *of("sam", "s-secret"))
    refused = await old.json("call", "clock_now", *of("sam", "s-secret"), code=4)
    doubted = await old.json("call", "clock_now", *of("gil", "s-doubt"), code=4)
    public = await old.json("call", "clock_now", *of("pia", "s-public"))

    assert (twin["lane"], public["lane"]) == ("sealed", "open")
    assert (refused["code"], doubted["code"]) == ("BSC-300", "BSC-300")


async def test_an_ended_session_stays_ended(old: Recorded):
    ran = await old.run("call", "notes_add", "text=again", *of("eve", "s-ended"))

    assert ran.code == 4
    assert (await shown(old, "eve", "s-ended"))["ended"] is True


async def test_a_raise_adds_to_the_recorded_receipts(old: Recorded):
    last = max(each["number"] for known in old.expected["shown"] for each in known["receipts"])
    raised = await old.json("sessions", "raise", *of("pia", "s-public"), "--to", "confidential", "--reason", "new")

    assert raised["receipt"]["number"] > last
    assert (await shown(old, "pia", "s-public"))["level"] == "confidential"
    assert (await old.json("call", "clock_now", *of("pia", "s-public"), code=4))["code"] == "BSC-300"
    others = [each for each in old.expected["sessions"]["sessions"] if each["user"] != "pia"]
    found = [each for each in (await old.json("sessions"))["sessions"] if each["user"] != "pia"]
    assert differences(in_order(found), in_order(others)) == []


async def test_a_raise_that_was_cut_short_is_completed(sqlite_state: Recorded):
    """The journal has the raise, the database and the receipts do not."""
    old = sqlite_state
    await old.json("call", "desk_look", "item=lamp", *of("joe", "s-ahead"))

    found = await shown(old, "joe", "s-ahead")
    assert (found["level"], found["doubt"]) == ("confidential", "")
    assert [(each["from"], each["to"]) for each in found["receipts"]] == [
        ("public", "internal"),
        ("internal", "confidential"),
    ]


async def test_an_operator_can_clear_a_recorded_doubt(old: Recorded):
    words = ("--to", "public", "--reason", "looked at", "--yes")
    for user in ("gil", "hal"):
        lowered = await old.json("sessions", "declassify", *of(user, "s-doubt"), *words)
        assert (lowered["level"], lowered["doubt"]) == ("public", "")
        assert lowered["datasets"] == {f"data-of-{user}": "internal"}


async def test_a_server_of_the_kit_remembers_private_sessions(sqlite_state: Recorded):
    """Its own store, below `servers`, labels a result although this runtime begins with an empty store."""
    old = sqlite_state
    with (old.folder / "bascule.yaml").open("a") as file:
        file.write("store: state/empty.db\n")
    await old.json("call", "records_wards", *of("kit", "s-kit"))
    await old.json("call", "records_wards", *of("somebody", "s-new"))

    assert (await shown(old, "kit", "s-kit"))["level"] == "confidential"
    assert (await shown(old, "somebody", "s-new"))["level"] == "public"


async def test_serves_a_session_whose_gateway_was_killed(old: Recorded):
    """The store names a dead gateway as the owner of the session."""
    port = free_port()
    words = ("serve", "--dev", "--json", "--port", str(port), *of("gwen", "s-gateway"))
    async with fail_after(120), started(old.folder, *words, env=PYTHON_ON_PATH, anew=True) as process:
        assert process.stdout is not None
        served = json.loads(await process.stdout.readline())
        assert served["workers"] == 2
        async with old_client(port, {}) as client, client.call("clock_now") as messages:
            answer = await anext(messages)

    assert "now" in answer["result"]["structuredContent"]


# Audit log


async def test_verifies_the_audit_log(old: Recorded):
    found = await old.json("audit", "verify")

    wanted = old.expected["audit_verify"]
    assert found["ok"] is wanted["ok"] is True
    assert found["damage"] == []
    assert differences(found["writers"], wanted["writers"]) == []
    assert {len(each["files"]) for each in wanted["writers"]} == {1, 2}


async def test_shows_every_record_of_the_audit_log(old: Recorded):
    found = await old.json("audit", "show", "--last", "100000")

    assert differences(found, old.expected["audit_show"]) == []


async def test_continues_the_audit_log(old: Recorded):
    await old.json("call", "notes_add", "text=later", *of("pia", "s-public"))
    found = (await old.json("audit", "show", "--last", "100000"))["records"]
    verified = await old.json("audit", "verify")

    before = old.expected["audit_show"]["records"]
    assert verified["ok"] is True
    assert {each["writer"] for each in verified["writers"]} == {each["writer"] for each in before}
    assert differences(found[: len(before)], before) == []
    added = [each["kind"] for each in found[len(before) :]]
    assert added[0] == "resumed"
    assert {"sending", "ended"} <= set(added)


# Lock and config


async def test_tools_that_were_approved_stay_approved(sqlite_state: Recorded):
    old = sqlite_state
    await old.json("approve")
    listed = await old.json("list")

    wanted = old.expected["list"]["tools"]
    names = ("name", "server", "tool", "digest", "status", "permissions")
    assert [{name: each[name] for name in names} for each in listed["tools"]] == [
        {name: each[name] for name in names} for each in wanted
    ]
    assert {each["status"] for each in wanted} == {"exposed"}


async def test_a_drift_from_the_lock_is_reported_and_kept_out(sqlite_state: Recorded):
    old = sqlite_state
    waiting = await old.json("approve", code=2, env={"DESK_EDITION": "2"})
    listed = await old.json("list", env={"DESK_EDITION": "2"})
    refused = await old.run("call", "desk_look", "item=lamp", env={"DESK_EDITION": "2"})

    def changes(told: Any) -> Any:
        names = ("tool", "change", "digest")
        servers = [each for each in told["servers"] if each["waits"]]
        return {each["name"]: [{name: tool[name] for name in names} for tool in each["tools"]] for each in servers}

    assert changes(waiting) == changes(old.expected["approve"])
    assert [each["change"] for each in changes(waiting)["desk"]] == ["changed", "new"]
    quarantined = {each["name"] for each in listed["tools"] if each["status"] == "quarantined"}
    assert quarantined == {"desk_look", "desk_shred"}
    assert refused.code == 4


async def test_remembers_the_listings_of_every_server(sqlite_state: Recorded):
    """A listing is compared with the recorded one: the log has a record of it only where something has changed."""
    old = sqlite_state
    before = len(old.expected["audit_show"]["records"])
    await old.json("list")
    same = await old.json("audit", "show", "--last", "100000")
    await old.json("list", env={"DESK_EDITION": "2"})
    changed = await old.json("audit", "show", "--last", "100000")

    assert [each for each in same["records"][before:] if each["kind"] == "catalog"] == []
    (told,) = [each for each in changed["records"][before:] if each["kind"] == "catalog"]
    assert (told["server"], told["added"], told["changed"]) == ("desk", 1, 1)


async def test_loads_every_key_of_the_config(sqlite_state: Recorded):
    old = sqlite_state
    found = await values_of(old, "every-key.yaml")

    wanted = json.loads((FIXTURE / "project/every-key.json").read_text())
    assert differences(unworded(found), unworded(wanted)) == []


def unworded(config: Any) -> Any:
    """Without the remarks on a config, which are sentences for a person."""
    if isinstance(config, dict):
        return {name: unworded(value) for name, value in config.items() if name != "notes"}
    return [unworded(each) for each in config] if isinstance(config, list) else config


async def test_runs_the_config_of_another_program(sqlite_state: Recorded):
    old = sqlite_state
    words = ("--config", ".mcp.json", "--user", "max")
    added = await old.json("call", "journal_add", "text=later", *words)
    asked = await old.json("call", "bell_now", *words, code=4)

    assert added["ok"] is True
    assert asked["kind"] == "denied"
    records = (await old.json("audit", "show", "--last", "100000"))["records"]
    assert records[-1]["writer"] == old.expected["audit_show"]["records"][-1]["writer"]
    assert [each["arguments"] for each in records if each["kind"] == "sending"][-1] == {"text": "later"}


async def test_takes_a_recorded_import_back(sqlite_state: Recorded):
    old = sqlite_state
    assert (old.folder / "imported.yaml").exists()
    await old.json("import", "--undo", "--config", "imported.yaml")

    assert not (old.folder / "imported.yaml").exists()


# Secrets, logs and files


async def test_sends_the_recorded_login(sqlite_state: Recorded):
    old = sqlite_state
    async with fail_after(60), fake_login() as fake:
        token = kept_login(old, fake.url)
        await old.run("list", "--user", "alice", env={"REMOTE_URL": fake.url})

        assert f"Bearer {token}" in fake.authorizations
        left = await old.json("logout", "remote", "--user", "alice", env={"REMOTE_URL": fake.url})

    assert left["was_logged_in"] is True


async def test_signs_tokens_with_the_recorded_key(sqlite_state: Recorded):
    ran = await sqlite_state.run("token", "--key")

    assert (ran.code, ran.out.strip()) == (0, sqlite_state.expected["token_key"])


async def test_opens_the_dashboard_with_the_recorded_token(sqlite_state: Recorded):
    token = (sqlite_state.state / "keys/dashboard.token").read_text()
    async with started(sqlite_state.folder, "up", "--json", env=PYTHON_ON_PATH) as process:
        told = await line_with(process, "dashboard")

    assert token in told["url"]


async def test_reads_the_logs_of_servers(sqlite_state: Recorded):
    for server, wanted in sqlite_state.expected["logs"].items():
        ran = await sqlite_state.run("logs", server, "--json", "-n", "1000")
        assert differences([json.loads(line) for line in ran.out.splitlines()], wanted) == []
        assert wanted


async def test_keeps_the_files_of_a_session(sqlite_state: Recorded, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(sqlite_state.state))
    (index,) = sqlite_state.state.glob("workspaces/*/attic/*/index")
    async with fail_after(60), bascule.Runtime.from_file(sqlite_state.folder / "bascule.yaml") as runtime:
        files = runtime.session("wren", "s-workspace").workspace
        assert files.read_text("/workspace/notes/today.md") == "half done"
        (result,) = files.list("results")
        assert files.read_text(f"results/{result.name}").splitlines()[399] == "line 399 of the ledger"
        files.write_text("notes/today.md", "later")

    # The original of a call that was killed stays for the operator.
    slot = json.loads(index.read_text().splitlines()[0])["slot"]
    assert (index.parent / slot).read_text() == "ship it\n"


# Containers and packages


@pytest.fixture
def engine() -> Iterator[DockerEngine]:
    """A container engine that has the recorded image, and no other one of Bascule."""
    with engine_of_its_own() as made:
        made.run("load", "--input", str(FIXTURE / "docker/image.tar.gz"))
        yield made


async def test_uses_the_image_that_is_there(sqlite_state: Recorded, engine: DockerEngine):
    if not image_fits():
        pytest.skip("the recorded image has the links of another system")
    ran = await sqlite_state.run(
        "call", "clock_now", "--config", "boxes.yaml", env={"BASCULE_SANDBOX": "docker", "DOCKER_HOST": engine.host}
    )

    assert ran.code == 0, ran.err
    (image,) = sqlite_state.expected["boxes"]["images"]
    assert engine.run("images", "--no-trunc", "--format={{.ID}}", "bascule/box").split() == [image["Id"]]


async def test_removes_the_containers_of_a_dead_runtime(sqlite_state: Recorded, engine: DockerEngine):
    containers = sqlite_state.expected["boxes"]["containers"]
    for each in containers:
        labels = [f"--label={name}={value}" for name, value in each["labels"].items()]
        engine.run("create", f"--name={each['name']}", *labels, each["image"], "/nothing")
    engine.run("create", "--name=of-somebody-else", containers[0]["image"], "/nothing")
    env = {"BASCULE_SANDBOX": "docker", "DOCKER_HOST": engine.host}

    listed = (await sqlite_state.json("sandbox", "ls", env=env))["boxes"]
    await sqlite_state.run("doctor", "--reap", "--config", ".mcp.json", env=env)

    assert {(each["name"], each["server"], each["lane"], each["orphaned"]) for each in listed} == {
        (each["name"], each["labels"]["dev.bascule.server"], "open", True) for each in containers
    }
    assert engine.run("ps", "--all", "--format={{.Names}}").split() == ["of-somebody-else"]


async def test_starts_a_prepared_package_without_fetching_it(sqlite_state: Recorded):
    skip_without_bubblewrap()
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    package = sqlite_state.folder / "little-1.0.0.tgz"
    # A fetch would fail: it is no package any more.
    package.write_bytes(bytes(package.stat().st_size))
    key = moved_layer(sqlite_state, package, Path(node))
    env = {"BASCULE_SANDBOX": "bubblewrap", "ENGINE": "bubblewrap", "LITTLE": str(package)}

    called = await sqlite_state.json("call", "little_greet", "--config", "boxes.yaml", env=env)
    (layer,) = (await sqlite_state.json("sandbox", "ls", env=env))["layers"]

    assert called["text"] == "hello from a prepared package"
    (wanted,) = sqlite_state.expected["layers"]
    assert (layer["name"], layer["size"], layer["pinned"]) == (key, wanted["size"], wanted["pinned"])
