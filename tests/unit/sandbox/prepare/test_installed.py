from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.installed import program_in
from bascule.sandbox.prepare.package import Package
from support.packages import install


def npm(binary: str | None = None) -> Package:
    return Package("npm", ("server",), binary, ())


@pytest.mark.parametrize(
    ("name", "programs", "found"),
    [
        ("server", {"other-name": "a.js"}, "other-name"),
        ("@scope/server", {"other-name": "a.js", "server": "b.js"}, "server"),
        ("server", {"alias": "a.js", "server": "a.js"}, "alias"),
        ("server", {"@scope/thing": "a.js"}, "thing"),
    ],
)
def test_the_program_is_found_as_npx_finds_it(tmp_path: Path, name: str, programs: dict[str, str], found: str):
    install(tmp_path, name, programs)

    assert program_in(tmp_path, npm()) == f"node_modules/.bin/{found}"


def test_a_program_may_be_described_by_its_path_alone(tmp_path: Path):
    install(tmp_path, "server", {"server": "a.js"})
    (tmp_path / "node_modules/server/package.json").write_text('{"bin": "a.js"}')

    assert program_in(tmp_path, npm()) == "node_modules/.bin/server"


def test_of_several_programs_one_has_to_be_named(tmp_path: Path):
    install(tmp_path, "server", {"one": "a.js", "two": "b.js"})

    with pytest.raises(SandboxError, match="which of its programs") as caught:
        program_in(tmp_path, npm())

    assert caught.value.evidence == "it has one, two"
    assert program_in(tmp_path, npm("two")) == "node_modules/.bin/two"


def test_a_program_that_is_not_there_is_told_with_those_that_are(tmp_path: Path):
    install(tmp_path)

    with pytest.raises(SandboxError, match="no program called other") as caught:
        program_in(tmp_path, npm("other"))

    assert caught.value.evidence == "it has server"


def test_no_link_out_of_the_layer_is_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "package.json").write_text('{"bin": {"secret-name": "a"}}')
    tree = tmp_path / "tree"
    install(tree)
    (tree / "node_modules/server/package.json").unlink()
    (tree / "node_modules/server/package.json").symlink_to(outside / "package.json")
    (tree / "node_modules/.bin/out").symlink_to("/usr/bin/env")

    with pytest.raises(SandboxError) as caught:
        program_in(tree, npm())
    assert "secret-name" not in caught.value.evidence
    with pytest.raises(SandboxError, match="no program called out"):
        program_in(tree, npm("out"))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"dependencies": {"../../x": "1"}}'])
def test_a_description_that_says_nothing_names_no_program(tmp_path: Path, text: str):
    install(tmp_path)
    (tmp_path / "package.json").write_text(text)

    with pytest.raises(SandboxError):
        program_in(tmp_path, npm())


def test_a_program_of_python_s_lies_in_its_environment(tmp_path: Path):
    programs = tmp_path / "env/bin"
    programs.mkdir(parents=True)
    (programs / "server").write_text("#!")
    (programs / "python").symlink_to("/bin/sh")

    for name in ("server", "python"):
        assert program_in(tmp_path, Package("python", ("s",), name, (), "uvx")) == f"env/bin/{name}"
