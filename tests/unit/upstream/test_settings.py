import msgspec
import pytest

from support.links import TERMS


def test_we_always_say_who_we_are():
    assert set(TERMS.client_info) == {"name", "version"}


def test_terms_cannot_be_changed():
    with pytest.raises(AttributeError):
        TERMS.probe = 1  # pyright: ignore[reportAttributeAccessIssue] -- that it cannot is the point
    assert msgspec.structs.replace(TERMS, probe=1.0).probe == 1
