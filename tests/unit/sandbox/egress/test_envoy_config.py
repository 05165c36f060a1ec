"""Envoy configuration of the egress proxy, and JSON responses; tests/hostile runs a real Envoy on it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.envoy_config import REFUSED, bootstrap, listeners, replies, socket_path
from bascule.sandbox.egress.proxy import CLOSED, closed_ranges, find_envoy
from bascule.sandbox.egress.rules import name_rules

EGRESS = Egress(allow=("allowed.test", "*.wild.test"))


def http_of(listener: dict[str, Any]) -> dict[str, Any]:
    return listener["filter_chains"][0]["filters"][-1]["typed_config"]


def filters_of(listener: dict[str, Any]) -> list[str]:
    return [each["name"] for each in http_of(listener)["http_filters"]]


def test_there_is_no_admin_interface():
    assert "admin" not in bootstrap(CLOSED)


def test_nothing_listens_but_on_sockets_of_boxes():
    made = listeners(EGRESS, CLOSED, [3, 9])["resources"]

    assert "listeners" not in bootstrap(CLOSED)["static_resources"]
    assert [each["address"] for each in made] == [
        {"pipe": {"path": "3/egress.sock", "mode": 0o666}},
        {"pipe": {"path": "9/egress.sock", "mode": 0o666}},
    ]
    assert socket_path(3) == "3/egress.sock"


def test_nothing_is_looked_up_before_its_name_was_allowed():
    [made] = listeners(EGRESS, CLOSED, [1])["resources"]

    assert filters_of(made) == [
        "envoy.filters.http.local_ratelimit", "by-name", "envoy.filters.http.dynamic_forward_proxy", "by-address",
        "envoy.filters.http.router",
    ]  # fmt: skip


def test_listeners_differ_by_their_box_alone():
    one, other = listeners(EGRESS, CLOSED, [1, 2])["resources"]

    assert http_of(one)["access_log"] != http_of(other)["access_log"]
    for each in (one, other):
        del each["name"], each["address"], http_of(each)["access_log"]
    assert one == other


def test_who_looks_names_up_and_who_connects_are_told_the_same():
    cluster = bootstrap(CLOSED)["static_resources"]["clusters"][0]["cluster_type"]["typed_config"]
    [made] = listeners(EGRESS, CLOSED, [1])["resources"]

    assert http_of(made)["http_filters"][2]["typed_config"]["dns_cache_config"] == cluster["dns_cache_config"]


@pytest.mark.parametrize(
    "egress", [Egress(), EGRESS, Egress(allow=tuple(f"*.a{n}.test" for n in range(500)), ports=(1,))]
)
def test_envoy_takes_it(egress: Egress, tmp_path: Path):
    """The listeners in the same file: those in one of their own are looked at only by an Envoy that runs."""
    closed = closed_ranges(["198.51.100.1", "2001:db8::1"])
    whole = bootstrap(closed)
    made = listeners(egress, closed, [1, 2])["resources"]
    whole["static_resources"]["listeners"] = [
        {key: value for key, value in each.items() if key != "@type"} for each in made
    ]
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    (tmp_path / "listeners.json").write_text('{"resources": []}')

    argv = [find_envoy(), "--mode", "validate", "-c", "whole.json", "--log-level", "error"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert said.returncode == 0, said.stderr[-1000:]


def bodies() -> dict[str, dict[str, Any]]:
    return {each["body_format_override"]["json_format"]["error"]: each for each in replies()["mappers"]}


def test_every_rule_has_its_words():
    assert name_rules(Egress(allow=("allowed.test",)))["policies"].keys() == REFUSED.keys()


def test_every_answer_says_why_and_what_to_do():
    for each in replies()["mappers"]:
        said = each["body_format_override"]["json_format"]
        assert said["error"]
        assert said["reason"]
        assert said["fix"]


def test_a_refusal_names_what_was_asked_for_and_the_key_that_the_operator_writes():
    said = bodies()["host"]["body_format_override"]["json_format"]

    assert "%REQ(:AUTHORITY)" in said["reason"]
    assert "egress.allow" in said["fix"]


def test_what_a_name_leads_to_is_refused_and_not_only_missing():
    private = [each for each in replies()["mappers"] if "address_denied" in json.dumps(each)]

    assert [each["status_code"] for each in private] == [403]


def test_an_answer_of_the_proxy_can_be_told_from_one_of_the_host():
    assert all(each["headers_to_add"][0]["header"]["key"] == "x-bascule-egress" for each in replies()["mappers"])
