"""A server as the registry describes it."""

import json
from typing import Any

import pytest

from bascule.cli.mcp_registry.server_json import Plan, read_server_json
from bascule.core.errors import UsageError

STDIO = {"type": "stdio"}


def described(packages: Any = (), remotes: Any = (), **more: Any) -> str:
    root = {"name": "io.github.example/weather-desk", "version": "1.4.0", "packages": packages, "remotes": remotes}
    return json.dumps(root | more)


def package(kind: str = "npm", identifier: str = "@example/desk", **more: Any) -> dict[str, Any]:
    return {"registryType": kind, "identifier": identifier, "version": "1.4.0", "transport": STDIO, **more}


def plan_of(*packages: Any, remotes: Any = (), kind: str | None = None) -> Plan:
    return read_server_json(described(packages, remotes)).choose(kind)


def why_not(*packages: Any, remotes: Any = ()) -> str:
    with pytest.raises(UsageError) as caught:
        plan_of(*packages, remotes=remotes)
    return caught.value.evidence


def test_a_package_of_npm_is_run_by_npx_in_its_version():
    assert plan_of(package()).entry == {"command": "npx", "args": ["-y", "@example/desk@1.4.0"]}


def test_a_package_of_pypi_is_run_by_uvx_in_its_version():
    assert plan_of(package("pypi", "weather-desk")).entry == {"command": "uvx", "args": ["weather-desk==1.4.0"]}


@pytest.mark.parametrize(
    ("given", "image"),
    [
        ({"identifier": "ghcr.io/example/desk:1.4.0"}, "ghcr.io/example/desk:1.4.0"),
        ({"identifier": "ghcr.io/example/desk@sha256:00"}, "ghcr.io/example/desk@sha256:00"),
        ({"identifier": "example/desk", "version": "2"}, "example/desk:2"),
        ({"identifier": "example/desk", "version": "2", "registryBaseUrl": "https://docker.io"}, "example/desk:2"),
        (
            {"identifier": "example/desk", "version": "2", "registryBaseUrl": "https://ghcr.io"},
            "ghcr.io/example/desk:2",
        ),
    ],
)
def test_an_image_is_run_by_docker_and_outside_of_our_boxes(given: dict[str, Any], image: str):
    plan = plan_of({"registryType": "oci", "transport": STDIO, **given})

    assert plan.entry == {"command": "docker", "args": ["run", "-i", "--rm", image], "sandbox": "none"}
    assert "outside of our boxes" in plan.warnings[0]


def test_an_image_gets_variables_by_name_and_never_by_value_on_its_command_line():
    variables = [{"name": "KEY", "isRequired": True, "isSecret": True}, {"name": "PROXY"}]
    plan = plan_of({"registryType": "oci", "identifier": "a/b:1", "environmentVariables": variables})

    assert plan.entry["args"] == ["run", "-i", "--rm", "-e", "KEY", "-e", "PROXY", "a/b:1"]
    assert plan.entry["env"] == {"KEY": "${KEY}"}
    assert plan.entry["inherit_env"] == ["PROXY"]


def test_an_image_that_wants_options_of_docker_or_has_no_tag_is_worth_a_look():
    options = [{"type": "named", "name": "--network", "value": "host"}]
    plan = plan_of({"registryType": "oci", "identifier": "a/b", "runtimeArguments": options})

    assert "--network=host" in plan.warnings[1]
    assert "a/b:VERSION" in plan.warnings[2]


def test_arguments_stand_before_and_behind_the_package():
    runtime = [{"type": "positional", "value": "-y"}, {"type": "named", "name": "--node-options", "value": "--x"}]
    behind = [
        {"type": "positional", "value": "serve"},
        {"type": "named", "name": "--port", "value": "80"},
        {"type": "named", "name": "-p", "value": "81"},
        {"type": "positional", "valueHint": "target_dir", "isRequired": True, "isRepeated": True},
        {"type": "named", "name": "--mode", "default": "fast"},
        {"type": "named", "name": "--color"},
        {"type": "named", "name": "--verbose", "format": "boolean"},
        {"type": "named", "name": "--yes", "format": "boolean", "isRequired": True},
    ]
    plan = plan_of(package(runtimeArguments=runtime, packageArguments=behind))

    assert plan.entry["args"] == [
        *("-y", "--node-options=--x", "@example/desk@1.4.0", "serve", "--port=80", "-p", "81"),
        *("${WEATHER_DESK_TARGET_DIR}", "--mode=${WEATHER_DESK_MODE:-fast}", "--yes"),
    ]
    assert "--color" in plan.notes[0]


def test_variables_are_referred_to_by_their_own_names():
    variables = [
        {"name": "KEY", "isRequired": True, "isSecret": True, "description": "The key."},
        {"name": "REGION", "default": "eu"},
        {"name": "PROXY", "description": "If any."},
        {"name": "MODE", "value": "mcp"},
    ]
    plan = plan_of(package(environmentVariables=variables))

    assert plan.entry["env"] == {"KEY": "${KEY}", "REGION": "${REGION:-eu}", "MODE": "mcp"}
    assert plan.entry["inherit_env"] == ["PROXY"]
    assert [(need.name, need.needed, need.secret) for need in plan.needs] == [
        ("KEY", True, True),
        ("REGION", False, False),
        ("PROXY", False, False),
    ]


def test_a_secret_never_stands_on_a_command_line():
    secret = [{"type": "named", "name": "--key", "isRequired": True, "isSecret": True}]

    assert "--key is a secret" in why_not(package(packageArguments=secret))


def test_a_remote_server_has_an_address_and_headers():
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.example.com/mcp",
        "variables": {"tenant": {"isRequired": True}},
        "headers": [
            {"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": True}}},
            {"name": "X-Api-Key", "isRequired": True, "isSecret": True},
            {"name": "X-Trace"},
        ],
    }
    plan = plan_of(remotes=[remote])

    assert plan.entry == {
        "url": "https://${WEATHER_DESK_URL_TENANT}.example.com/mcp",
        "transport": "http",
        "headers": {
            "Authorization": "Bearer ${WEATHER_DESK_AUTHORIZATION_TOKEN}",
            "X-Api-Key": "${WEATHER_DESK_X_API_KEY}",
        },
    }
    assert "X-Trace" in plan.notes[0]
    assert plan_of(remotes=[{"type": "sse", "url": "https://a.test/sse"}]).entry["transport"] == "sse"


def test_a_process_is_preferred_and_any_offer_can_be_asked_for():
    remote = {"type": "sse", "url": "https://a.test/sse"}
    packages = (package("oci", "a/b:1"), package("pypi", "desk"), package())

    assert plan_of(*packages, remotes=[remote]).kind == "npm"
    for kind in ("npm", "pypi", "oci", "remote"):
        assert plan_of(*packages, remotes=[remote], kind=kind).kind == kind
    with pytest.raises(UsageError, match="offers no pypi"):
        plan_of(package(), kind="pypi")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (package("nuget", "A.B"), "not supported: packages of nuget"),
        (package("mcpb", "https://a.test/x.mcpb"), "not supported: packages of mcpb"),
        (package(transport={"type": "streamable-http", "url": "http://localhost/"}), "it serves streamable-http"),
        (package(registryBaseUrl="https://npm.evil.test"), "come from https://npm.evil.test"),
        (package(identifier="--registry=http://evil.test"), "is no name of a package"),
        (package(identifier="a b"), "is no name of a package"),
        (package(version="^1.0"), "is no exact version"),
        (package("pypi", "desk", version="1.*"), "is no exact version"),
        (package("oci", "-v/:/host"), "is no image"),
        (package(environmentVariables=[{"name": "A=B"}]), "is no name of a variable"),
        (package(environmentVariables=[{}]), "is no name of a variable"),
    ],
)
def test_what_cannot_be_added_is_told_with_its_reason(given: dict[str, Any], why: str):
    assert why in why_not(given)


@pytest.mark.parametrize("remote", [{"type": "ws", "url": "wss://a.test"}, {"type": "sse", "url": "file:///etc"}, {}])
def test_a_remote_of_another_kind_cannot_be_added(remote: dict[str, Any]):
    assert why_not(remotes=[remote])


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "7", '{"name": "a/b"}', '{"packages": []}', '{"name": 7, "remotes": []}', b"\xff"]
)
def test_what_is_no_such_file_is_told(text: str | bytes):
    with pytest.raises(UsageError, match=r"this is no server\.json"):
        read_server_json(text)


def test_an_answer_of_the_registry_holds_one():
    text = json.dumps({"server": json.loads(described([package()])), "_meta": {}})

    assert read_server_json(text).choose(None).kind == "npm"


def test_field_names_of_before_are_understood():
    old = {
        "registry_type": "npm",
        "identifier": "desk",
        "version": "1.0.0",
        "environment_variables": [{"name": "MY_KEY", "is_required": True, "is_secret": True}],
        "package_arguments": [{"type": "positional", "value_hint": "target_dir", "is_required": True}],
    }
    plan = plan_of(old)

    assert plan.entry["env"] == {"MY_KEY": "${MY_KEY}"}
    assert plan.entry["args"][-1] == "${WEATHER_DESK_TARGET_DIR}"


def test_it_is_called_by_the_end_of_its_name_or_as_one_likes():
    assert read_server_json(described([package()])).name == "weather-desk"
    assert read_server_json(described([package()]), "sky").name == "sky"
