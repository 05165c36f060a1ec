"""What the proxy answers itself. That Envoy takes it so is tried in test_envoy.py and tests/hostile."""

import json
from typing import Any

from bascule.config.model.egress import Egress
from bascule.sandbox.egress.envoy_config import REFUSED, replies
from bascule.sandbox.egress.rules import name_rules


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
