import pytest

from bascule.sandbox.prepare.package import Kind, Package, local_file


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
