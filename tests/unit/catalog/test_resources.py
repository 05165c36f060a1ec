"""Offers of one server, and the library that finds the server of a URI and the prompt of a name."""

from typing import Any

import pytest

from bascule.catalog import resources as library_module
from bascule.catalog.pages import PROMPTS, RESOURCES, TEMPLATES, Listed, Pages
from bascule.catalog.resources import MAX_ARGUMENTS, Library, ServerOffers, catalog_offers
from bascule.core.errors import Refused, UnknownPrompt, UnknownResource
from bascule.core.finding import Finding, FindingKind
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey, ToolStatus


def offers(
    server: str,
    *,
    uris: tuple[str, ...] = (),
    templates: tuple[str, ...] = (),
    prompts: tuple[str, ...] = (),
    prefix: str | None = None,
) -> ServerOffers:
    kinds: Any = ((RESOURCES, uris), (TEMPLATES, templates), (PROMPTS, prompts))
    pages: list[Pages] = []
    for listed, names in kinds:
        pages.append(Pages(listed))
        pages[-1].add({listed.field: [{listed.key: name} for name in names]})
    return catalog_offers(server, server if prefix is None else prefix, pages[0], pages[1], pages[2])


def test_a_uri_is_of_the_server_that_lists_it():
    library = Library([offers("a", uris=("x://1",)), offers("b", uris=("x://2",))])
    assert (library.server_of("x://1"), library.server_of("x://2")) == ("a", "b")


def test_a_listed_uri_counts_before_any_template():
    library = Library([offers("a", templates=("x://{n}",)), offers("b", uris=("x://1",))])
    assert (library.server_of("x://1"), library.server_of("x://2")) == ("b", "a")


def test_a_uri_that_could_be_of_two_servers_names_both_and_asks():
    library = Library([offers("a", templates=("x://{n}",)), offers("b", templates=("x://{m}",)), offers("c")])
    with pytest.raises(UnknownResource, match="'x://1' could be of a or b") as caught:
        library.server_of("x://1")
    assert caught.value.servers == ("a", "b")
    assert "`server`" in caught.value.fix


def test_a_uri_nobody_lists_names_those_who_have_resources():
    library = Library([offers("a", uris=("x://1",)), offers("b", prompts=("p",))])
    with pytest.raises(UnknownResource, match="no server lists 'y://1'; resources are offered by a") as caught:
        library.server_of("y://1")
    assert caught.value.servers == ("a",)
    with pytest.raises(UnknownResource, match="no server offers any"):
        Library().server_of("y://1")


def test_thousands_of_templates_that_fit_almost_everything_are_not_all_compared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library_module, "MAX_COMPARED", 100)
    greedy = tuple(f"x://{{+a}}{number}!" for number in range(50))
    library = Library([offers("bad", templates=greedy), offers("good", templates=("x://{n}",))])
    with pytest.raises(UnknownResource):
        library.server_of("x://12345678")


def test_a_template_is_found_as_it_is_written():
    library = Library([offers("a", templates=("x://{n}",)), offers("b", templates=("x://{n}", "y://{n}"))])
    found = library.template("y://{n}")
    assert found is not None
    assert found.server == "b"
    assert library.template("x://{n}") is None
    of_a = library.template("x://{n}", "a")
    assert of_a is not None
    assert of_a.server == "a"


def test_prompts_go_by_their_exposed_names():
    library = Library([offers("a", prompts=("greet",)), offers("b", prompts=("greet",))])
    assert [spec.name for spec in library.prompts] == ["a_greet", "b_greet"]
    assert library.prompt("b_greet").key.server == "b"


def test_of_two_prompts_of_one_name_neither_is_exposed_and_it_says_why():
    library = Library([offers("a", prompts=("b_greet",)), offers("a_b", prompts=("greet",))])
    assert library.prompts == ()
    assert [spec.status for spec in library.all_prompts] == [ToolStatus.COLLIDING] * 2
    with pytest.raises(UnknownPrompt, match="a/b_greet and a_b/greet would both be called a_b_greet"):
        library.prompt("a_b_greet")


def test_an_unknown_prompt_names_the_nearest():
    with pytest.raises(UnknownPrompt, match="did you mean a_greet") as caught:
        Library([offers("a", prompts=("greet",))]).prompt("a_great")
    assert caught.value.nearest == ("a_greet",)


def test_problems_name_their_server():
    assert Library([offers("a", templates=("x://{",))]).problems[0].startswith("a: the resource template")


def test_where_findings_are_refused_what_cannot_be_compared_is_not_let_through(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library_module, "MAX_COMPARED", 100)
    finding = Finding(FindingKind.INVISIBLE, "name", "U+200B")
    hiding = [ResourceSpec("a", "resource", "sha256:0", uri=f"x://{n}", findings=(finding,)) for n in range(50)]
    clean = ResourceSpec("a", "resource", "sha256:0", uri="x://clean")
    held = ServerOffers("a", {spec.uri: spec for spec in (*hiding, clean)})
    with pytest.raises(Refused, match="texts were refused"):
        Library([held], refuse=True).check("x://clean", "a")
    Library([held], refuse=True).check("x://1", "b")
    Library([held]).check("x://1", "a")


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
