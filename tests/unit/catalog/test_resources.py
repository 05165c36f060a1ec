"""Which server a URI is of, and which prompt a name means."""

from typing import Any

import pytest

from bascule.catalog import resources as library_module
from bascule.catalog.pages import PROMPTS, RESOURCES, TEMPLATES, Pages
from bascule.catalog.resources import Library, ServerOffers, catalog_offers
from bascule.core.errors import Refused, UnknownPrompt, UnknownResource
from bascule.core.finding import Finding, FindingKind
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolStatus


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
