"""What one server offers beside tools: every entry on its own."""

from typing import Any

from bascule.catalog.pages import PROMPTS, RESOURCES, TEMPLATES, Listed, Pages
from bascule.catalog.resources import MAX_ARGUMENTS, ServerOffers, catalog_offers
from bascule.core.tool import ToolKey


def pages(listed: Listed, *entries: Any) -> Pages:
    made = Pages(listed)
    assert made.add({listed.field: [*entries]}) is None
    return made


def offered(
    resources: tuple[Any, ...] = (), templates: tuple[Any, ...] = (), prompts: tuple[Any, ...] = ()
) -> ServerOffers:
    made = pages(RESOURCES, *resources), pages(TEMPLATES, *templates), pages(PROMPTS, *prompts)
    return catalog_offers("notes", "n", *made)


def test_a_resource_has_all_that_its_server_says_of_it():
    given = {
        "uri": "notes://1",
        "name": "one",
        "title": "One",
        "description": "The first.",
        "mimeType": "text/plain",
        "size": 3,
    }
    spec = offered(resources=(given,)).resources["notes://1"]

    assert (spec.server, spec.kind, spec.uri, spec.uri_template) == ("notes", "resource", "notes://1", "")
    assert (spec.name, spec.title, spec.description) == ("one", "One", "The first.")
    assert (spec.mime_type, spec.size) == ("text/plain", 3)


def test_fields_of_the_wrong_kind_are_as_if_they_were_not_there():
    spec = offered(resources=({"uri": "a://", "name": 7, "title": [], "mimeType": {}, "size": True},)).resources["a://"]

    assert (spec.name, spec.title, spec.mime_type, spec.size) == ("", None, None, None)


def test_a_template_is_listed_even_if_it_matches_nothing_and_then_says_so():
    offers = offered(templates=({"uriTemplate": "a://{x}"}, {"uriTemplate": "b://{"}))

    assert [spec.kind for spec in offers.templates.values()] == ["template", "template"]
    assert list(offers.patterns) == ["a://{x}"]
    assert "'b://{' matches nothing" in offers.problems[0]


def test_prompts_are_named_like_tools_and_keep_their_arguments():
    given = {
        "name": "say.hello",
        "description": "Greets.",
        "arguments": [{"name": "who", "description": "Whom.", "required": True}, {"name": "how"}, "odd", {"name": ""}],
    }
    (spec,) = offered(prompts=(given,)).prompts

    assert (spec.name, spec.key) == ("n_say_hello", ToolKey("notes", "say.hello"))
    assert [(blank.name, blank.description, blank.required) for blank in spec.arguments] == [
        ("who", "Whom.", True),
        ("how", "", False),
    ]


def test_a_prompt_has_only_so_many_arguments():
    given = {"name": "long", "arguments": [{"name": f"a{number}"} for number in range(MAX_ARGUMENTS + 5)]}
    assert len(offered(prompts=(given,)).prompts[0].arguments) == MAX_ARGUMENTS


def test_one_bad_entry_takes_no_other_away():
    offers = offered(
        resources=("odd", {"uri": "a://1"}, {"uri": 7}, {"uri": "x" * 3000}),
        templates=({}, {"uriTemplate": "a://{x}"}),
        prompts=({"name": "fine"}, {"name": "fine"}, None),
    )

    assert (list(offers.resources), list(offers.templates)) == (["a://1"], ["a://{x}"])
    assert [spec.key.tool for spec in offers.prompts] == ["fine"]
    assert len(offers.problems) == 6


def test_digests_see_every_field_and_no_order_of_keys():
    one = offered(resources=({"uri": "a://1", "name": "x", "_meta": {"y": 1}},)).resource_digests()
    same = offered(resources=({"_meta": {"y": 1}, "name": "x", "uri": "a://1"},)).resource_digests()
    other = offered(resources=({"uri": "a://1", "name": "x", "_meta": {"y": 2}},)).resource_digests()

    assert one == same
    assert one.keys() == other.keys()
    assert one != other


def test_a_resource_and_a_template_written_alike_have_digests_of_their_own():
    offers = offered(resources=({"uri": "a://1"},), templates=({"uriTemplate": "a://1"},))
    assert len(offers.resource_digests()) == 2
