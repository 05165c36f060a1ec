import msgspec
import pytest

from bascule.upstream.settings import Terms

NUMBERS = [name for name in Terms.__struct_fields__ if isinstance(getattr(Terms(), name), float)]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_wait_ends(name: str):
    assert 0 < getattr(Terms(), name) < 120


def test_the_defaults_are_the_documented_ones():
    terms = Terms()

    assert terms.era == "auto"
    assert (terms.connect, terms.reconnect, terms.probe, terms.close) == (60, 15, 3, 5)


def test_we_always_say_who_we_are():
    assert set(Terms().client_info) == {"name", "version"}


def test_the_defaults_of_one_are_not_those_of_another():
    assert Terms().client_info is not Terms().client_info


def test_terms_cannot_be_changed():
    with pytest.raises(AttributeError):
        Terms().probe = 1  # pyright: ignore[reportAttributeAccessIssue] -- that it cannot is the point
    assert msgspec.structs.replace(Terms(), probe=1.0).probe == 1
