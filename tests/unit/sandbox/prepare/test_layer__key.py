from dataclasses import replace
from pathlib import Path

import pytest

from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.layer import key_of
from bascule.sandbox.prepare.package import Package

PACKAGE = Package("npm", ("server",), None, ("/data",))
FETCHER = Fetcher("npm", ("/node", "/npm"), "/node", ("/node",), (), "node 1")


def test_the_same_package_has_the_same_key_whatever_its_program_is_given():
    assert key_of(PACKAGE, FETCHER) == key_of(replace(PACKAGE, arguments=("/other",)), FETCHER)
    assert key_of(PACKAGE, FETCHER).isalnum()


@pytest.mark.parametrize(
    "other",
    [
        replace(PACKAGE, specs=("server@1.0.0",)),
        replace(PACKAGE, specs=("server", "more")),
        replace(PACKAGE, binary="server"),
        replace(PACKAGE, options=("--registry=https://r.test",)),
        replace(PACKAGE, kind="python"),
    ],
)
def test_whatever_decides_what_is_fetched_is_in_the_key(other: Package):
    assert key_of(other, FETCHER) != key_of(PACKAGE, FETCHER)


def test_another_interpreter_has_another_layer():
    assert key_of(PACKAGE, replace(FETCHER, identity="node 2")) != key_of(PACKAGE, FETCHER)


def test_a_package_that_was_packed_again_is_another_one(tmp_path: Path):
    packed = tmp_path / "s.tgz"
    package = replace(PACKAGE, specs=(str(packed),))
    missing = key_of(package, FETCHER)
    packed.write_text("one")
    first = key_of(package, FETCHER)
    packed.write_text("another")

    assert len({missing, first, key_of(package, FETCHER)}) == 3
