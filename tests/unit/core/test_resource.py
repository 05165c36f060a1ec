"""A resource as its server lists it."""

from bascule.core.resource import ResourceSpec


def test_the_address_is_the_uri_or_the_template():
    assert ResourceSpec("files", "resource", "d", uri="a://1").address == "a://1"
    assert ResourceSpec("files", "template", "d", uri_template="a://{x}").address == "a://{x}"
