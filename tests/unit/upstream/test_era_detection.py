from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, PeerRefused, ProtocolViolation
from bascule.upstream.era_detection import (
    SERVER_INFO_KEY,
    is_new_era_refusal,
    read_discovery,
    read_handshake,
    speaks_no_version_of_ours,
    version_to_try,
)
from bascule.wire.request_meta import NEW_VERSIONS, OLD_VERSIONS


def refusal(code: int, data: Any = None) -> PeerRefused:
    return PeerRefused("no", rpc_code=code, data=data)


def test_a_discovery_is_an_agreement():
    found = read_discovery(
        {
            "supportedVersions": ["2026-07-28", "2099-01-01"],
            "capabilities": {"tools": {}},
            "instructions": "Mind the gap.",
            "_meta": {SERVER_INFO_KEY: {"name": "new"}},
        }
    )

    assert found is not None
    assert (found.version, found.capabilities) == ("2026-07-28", {"tools": {}})
    assert (found.server_info, found.instructions) == ({"name": "new"}, "Mind the gap.")


@pytest.mark.parametrize(
    "result",
    [{}, {"supportedVersions": []}, {"supportedVersions": "2026-07-28"}, {"supportedVersions": [["2026-07-28"], 7]}],
    ids=repr,
)
def test_anything_else_is_no_evidence_of_the_new_era(result: dict[str, Any]):
    assert read_discovery(result) is None


def test_what_is_odd_in_a_discovery_is_left_out():
    found = read_discovery({"supportedVersions": list(NEW_VERSIONS), "capabilities": [], "instructions": 7, "_meta": 1})

    assert found is not None
    assert (found.capabilities, found.instructions, found.server_info) == ({}, "", {})


@pytest.mark.parametrize(("code", "new"), [(-32020, True), (-32021, True), (-32022, True), (-32601, False), (0, False)])
def test_some_refusals_only_the_new_era_knows(code: int, new: bool):
    assert is_new_era_refusal(refusal(code)) is new


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ({"supported": ["2099-01-01", "2026-07-28"]}, "2026-07-28"),
        ({"supported": ["2025-11-25"]}, None),
        ({"supported": "2026-07-28"}, None),
        ({"supported": [{}, None]}, None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
    ids=repr,
)
def test_the_version_to_try_is_one_we_both_speak(data: Any, version: str | None):
    assert version_to_try(refusal(-32022, data)) == version


@pytest.mark.parametrize(
    ("data", "hopeless"),
    [
        ({"supported": ["2099-01-01"]}, True),
        ({"supported": ["2099-01-01", "2025-11-25"]}, False),
        ({"supported": ["2026-07-28"]}, False),
        ({"supported": []}, False),
        (None, False),
    ],
    ids=repr,
)
def test_a_server_is_hopeless_only_if_it_names_versions_and_none_is_ours(data: Any, hopeless: bool):
    assert speaks_no_version_of_ours(refusal(-32022, data)) is hopeless


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_a_handshake_in_any_old_version_is_an_agreement(version: str):
    found = read_handshake({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}})

    assert (found.version, found.capabilities, found.server_info) == (version, {"tools": {}}, {"name": "old"})


def test_a_version_we_do_not_speak_fails_and_is_named_with_ours():
    with pytest.raises(ConnectFailed, match="'1999-01-01'") as caught:
        read_handshake({"protocolVersion": "1999-01-01"})

    assert all(version in caught.value.evidence for version in (*OLD_VERSIONS, *NEW_VERSIONS))
    assert caught.value.fix


def test_a_version_of_any_length_is_told_in_short():
    with pytest.raises(ConnectFailed) as caught:
        read_handshake({"protocolVersion": "9" * 100_000})

    assert len(caught.value.message) < 200


@pytest.mark.parametrize("version", [None, 7, ["2025-11-25"]])
def test_a_handshake_without_a_version_is_a_violation(version: Any):
    with pytest.raises(ProtocolViolation):
        read_handshake({"protocolVersion": version})
