""" """

import pytest

from bascule.sandbox.prepare.package import (
    Kind,
    NotUnderstood,
    Package,
    has_credentials,
    local_file,
    npm_spec,
    python_spec,
)


@pytest.mark.parametrize(
    ("kind", "specs", "pinned"),
    [
        ("npm", ("a@1.2.3",), True),
        ("npm", ("@s/a@1.2.3-beta.1",), True),
        ("npm", ("a@1.2",), False),
        ("npm", ("a@latest",), False),
        ("npm", ("@s/a",), False),
        ("npm", ("a@1.2.3", "b"), False),
        ("npm", ("/packed/a.tgz",), True),
        ("python", ("a==1.2",), True),
        ("python", ("a[x]==1.2",), True),
        ("python", ("a>=1.2",), False),
        ("python", ("a==1.2", "b"), False),
        ("python", ("a",), False),
    ],
)
def test_a_package_is_pinned_if_each_of_its_versions_is_exact(kind: Kind, specs: tuple[str, ...], pinned: bool):
    assert Package(kind, specs, None, ()).pinned is pinned


@pytest.mark.parametrize(
    ("spec", "path"),
    [("/a.tgz", "/a.tgz"), ("file:/a.tgz", "/a.tgz"), ("file:///a.tgz", "/a.tgz"), ("a", None), ("file:a.tgz", None)],
)
def test_a_file_of_this_machine_is_known_by_its_whole_path(spec: str, path: str | None):
    assert local_file(spec) == path


def test_files_are_told_apart_from_names():
    assert Package("npm", ("a", "/b.tgz"), None, ()).files == ("/b.tgz",)


@pytest.mark.parametrize(
    "text",
    [
        "server",
        "server@1.2.3",
        "@scope/server",
        "@scope/server@^1.2",
        "server@latest",
        "other@npm:server@1",
        "github:a/b",
        "a/b#v1",
        "https://host.test/a.tgz",
        "git+https://host.test/a.git#v1",
        "/packed/a.tgz",
        "file:/packed/a.tar.gz",
    ],
)
def test_names_of_npm_packages_are_taken_as_they_are(text: str):
    assert npm_spec(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("./a", "whole path"),
        ("../a.tgz", "whole path"),
        (".", "whole path"),
        ("~/a.tgz", "whole path"),
        ("file:a.tgz", "whole path"),
        ("/folder", "a folder"),
        ("git+ssh://git@host.test/a", "password"),
        ("git@host.test:a/b", "key"),
        ("ssh://host.test/a", "key"),
        ("https://user:word@host.test/a.tgz", "password"),
        ("a b", "not understood"),
        ("$(id)", "not understood"),
        ("--global", "whole path"),
    ],
)
def test_what_cannot_be_fetched_by_somebody_without_rights_or_folder_is_not_understood(text: str, why: str):
    with pytest.raises(NotUnderstood, match=why):
        npm_spec(text)


@pytest.mark.parametrize(
    ("text", "taken", "name"),
    [
        ("server", "server", "server"),
        ("server@1.2.3", "server==1.2.3", "server"),
        ("server@latest", "server", "server"),
        ("server[cli]@1.2", "server[cli]==1.2", "server"),
        ("server==1.2", "server==1.2", "server"),
        ("server>=1,<2", "server>=1,<2", "server"),
        ("server[cli]", "server[cli]", "server"),
        ("server @ https://host.test/s.whl", "server @ https://host.test/s.whl", "server"),
        ("git+https://host.test/s@v1", "git+https://host.test/s@v1", None),
        ("/packed/s.whl", "/packed/s.whl", None),
    ],
)
def test_requirements_are_said_as_pip_takes_them(text: str, taken: str, name: str | None):
    spec = python_spec(text)

    assert (spec.text, spec.name) == (taken, name)


@pytest.mark.parametrize("text", ["", "./s", "/folder", "script.py", "a b", "-r", "s@https://u:w@host.test/s.whl"])
def test_what_is_no_requirement_is_not_understood(text: str):
    with pytest.raises(NotUnderstood):
        python_spec(text)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("https://host.test/a@1.0", False),
        ("https://user@host.test", True),
        ("https://user:word@host.test/x", True),
        ("--index=https://user:word@host.test/x", True),
        ("one https://a.test two=https://u:w@b.test", True),
        ("https://host.test?x=a@b", False),
        ("https://host.test\\@other.test", False),
        ("server@1.2", False),
    ],
)
def test_a_user_in_an_address_is_a_credential(text: str, has: bool):
    assert has_credentials(text) is has
