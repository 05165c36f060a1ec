"""Changes of several calls in the same places, each undone or kept without harm to the others."""

from hypothesis import given
from hypothesis import strategies as st

from bascule.core.undo.stack import Layers

OWNERS, PLACES = "ABC", "xy"

Step = tuple[str, str, str]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(OWNERS), st.sampled_from(PLACES)),
        st.tuples(st.just("settle"), st.just(""), st.sampled_from(PLACES)),
        st.tuples(st.sampled_from(["commit", "rollback"]), st.sampled_from(OWNERS), st.just("")),
    ),
    max_size=25,
)


class Played:
    """Places that are changed through layers, and beside them the list of all changes."""

    def __init__(self) -> None:
        self.layers: Layers[str, int] = Layers()
        self.values = dict.fromkeys(PLACES, 0)
        self.history: list[tuple[str, str, int]] = []
        self.lives = dict.fromkeys(OWNERS, 0)

    def owner(self, name: str) -> str:
        """A call that has ended is followed by another one."""
        return f"{name}{self.lives[name]}"

    def play(self, kind: str, name: str, place: str) -> None:
        if kind in {"write", "settle"}:
            self.change(self.owner(name) if name else "", place)
            return
        owner = self.owner(name)
        self.lives[name] += 1
        if kind == "commit":
            self.layers.commit(owner)
            return
        self.history = [change for change in self.history if change[0] != owner]
        self.values |= self.layers.rollback(owner)[0]

    def change(self, owner: str, place: str) -> None:
        if not owner:
            self.layers.settle(place)
        elif not self.layers.on_top(owner, place):
            self.layers.keep(owner, place, self.values[place])
        self.values[place] = len(self.history) + 1000 * sum(self.lives.values()) + 1
        self.history.append((owner, place, self.values[place]))

    def expected(self) -> dict[str, int]:
        """As if what was undone had never been."""
        found = dict.fromkeys(PLACES, 0)
        for _, place, value in self.history:
            found[place] = value
        return found


@given(steps)
def test_what_stands_somewhere_is_the_last_change_that_was_not_undone(played: list[Step]):
    world = Played()
    for kind, name, place in played:
        world.play(kind, name, place)
        assert world.values == world.expected()
    for name in OWNERS:
        world.play("rollback", name, "")
        assert world.values == world.expected()


def test_when_all_have_ended_nothing_is_kept():
    layers: Layers[str, int] = Layers()
    layers.keep("A", "x", 1)
    layers.keep("B", "x", 2)
    layers.keep("A", "y", 3)

    assert layers.places("A") == ("x", "y")
    assert layers.commit("A") == [1, 3]
    assert layers
    assert layers.rollback("B") == ({"x": 2}, [])
    assert not layers
    assert (layers.places("A"), layers._places) == ((), {})


def test_originals_that_a_later_change_has_made_useless_are_given_back():
    layers: Layers[str, int] = Layers()
    layers.keep("A", "x", 1)
    layers.keep("B", "x", 2)

    assert layers.commit("B") == [1, 2]
    assert layers.rollback("A") == ({}, [])
    layers.keep("A", "x", 3)
    assert layers.settle("x") == [3]
    assert layers.settle("x") == []


def test_so_are_those_that_stand_for_what_is_undone():
    layers: Layers[str, int] = Layers()
    layers.keep("A", "x", 1)
    layers.keep("B", "x", 2)
    layers.keep("A", "x", 3)

    assert layers.rollback("B") == ({}, [3])
    assert layers.rollback("A") == ({"x": 1}, [2])
