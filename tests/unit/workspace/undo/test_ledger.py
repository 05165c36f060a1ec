"""Who has changed which path, in which order, and what was there before."""

from bascule.workspace.undo.ledger import Folder, Layers, Original, Owner


class Shelf:
    """Layers, the slots that were dropped, and originals by letter."""

    def __init__(self) -> None:
        self.dropped: list[str] = []
        self.layers = Layers(self.dropped.append)

    def original(self, slot: str) -> Original:
        made = Original()
        made.slot = slot
        return made


def test_a_call_that_was_not_the_last_to_change_a_path_has_to_say_what_it_found():
    shelf, a, b = Shelf(), Owner(), Owner()
    assert not shelf.layers.last_is(a, "p")
    shelf.layers.push(a, "p", None)
    assert shelf.layers.last_is(a, "p")
    assert not shelf.layers.last_is(b, "p")
    shelf.layers.push(b, "p", None)
    assert not shelf.layers.last_is(a, "p")
    assert not shelf.layers.last_is(None, "p")


def test_the_last_to_change_a_path_gives_back_what_it_found():
    shelf, a = Shelf(), Owner()
    found = shelf.original("1")
    shelf.layers.push(a, "p", found)
    assert shelf.layers.withdraw(a) == {"p": found}
    assert not shelf.layers
    assert shelf.dropped == []


def test_whoever_changed_it_since_inherits_what_was_found_first():
    shelf, a, b = Shelf(), Owner(), Owner()
    first, second = shelf.original("1"), shelf.original("2")
    shelf.layers.push(a, "p", first)
    shelf.layers.push(b, "p", second)
    assert shelf.layers.withdraw(a) == {}
    assert shelf.dropped == ["2"]
    assert shelf.layers.withdraw(b) == {"p": first}


def test_changes_in_turn_are_taken_out_one_by_one():
    shelf, a, b = Shelf(), Owner(), Owner()
    found = [shelf.original(str(number)) for number in range(3)]
    for owner, original in zip((a, b, a), found, strict=True):
        shelf.layers.push(owner, "p", original)
    assert shelf.layers.withdraw(a) == {"p": found[2]}
    assert shelf.dropped == ["1"]
    assert shelf.layers.withdraw(b) == {"p": found[0]}


def test_two_layers_of_one_call_with_nothing_between_are_one():
    shelf, a, b = Shelf(), Owner(), Owner()
    found = [shelf.original(str(number)) for number in range(3)]
    for owner, original in zip((a, b, a), found, strict=True):
        shelf.layers.push(owner, "p", original)
    assert shelf.layers.withdraw(b) == {}
    assert shelf.dropped == ["2"]
    assert shelf.layers.withdraw(a) == {"p": found[0]}
    assert shelf.dropped == ["2", "1"]


def test_what_is_kept_makes_void_what_others_had_found_before():
    shelf, a, b, c = Shelf(), Owner(), Owner(), Owner()
    for number, owner in enumerate((a, b, c)):
        shelf.layers.push(owner, "p", shelf.original(str(number)))
    shelf.layers.commit(b)
    assert shelf.dropped == ["0", "1"]
    assert shelf.layers.withdraw(a) == {}
    (found,) = shelf.layers.withdraw(c).values()
    assert isinstance(found, Original)
    assert found.slot == "2"


def test_one_who_kept_its_first_change_still_has_its_second():
    shelf, a, b = Shelf(), Owner(), Owner()
    shelf.layers.push(a, "p", shelf.original("0"))
    shelf.layers.push(b, "p", shelf.original("1"))
    shelf.layers.push(a, "p", shelf.original("2"))
    shelf.layers.commit(b)
    assert shelf.layers.keys(a) == ("p",)
    assert len(shelf.layers.withdraw(a)) == 1


def test_a_change_for_good_makes_everything_void():
    shelf, a = Shelf(), Owner()
    shelf.layers.push(a, "p", shelf.original("0"))
    shelf.layers.push(a, "q", Folder(0o700))
    shelf.layers.void("p")
    shelf.layers.void("nothing")
    assert shelf.dropped == ["0"]
    assert list(shelf.layers.withdraw(a)) == ["q"]


def test_an_original_of_which_two_speak_is_dropped_with_the_second():
    shelf, a, b = Shelf(), Owner(), Owner()
    shared = shelf.original("0")
    shelf.layers.push(a, "p", shared)
    shelf.layers.push(b, "q", shared)
    shelf.layers.commit(a)
    assert shelf.dropped == []
    shelf.layers.commit(b)
    assert shelf.dropped == ["0"]


def test_an_original_that_lies_in_the_workspace_is_found_there_and_never_dropped():
    shelf, a = Shelf(), Owner()
    original = shelf.original("0")
    shelf.layers.push(a, "p", original)
    shelf.layers.moved(original, key="q")
    assert shelf.layers.living("q") is original
    shelf.layers.moved(original, key="r")
    assert shelf.layers.living("q") is None
    shelf.layers.commit(a)
    assert shelf.layers.living("r") is None
    assert shelf.dropped == []
