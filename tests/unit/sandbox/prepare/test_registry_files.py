from pathlib import Path

from bascule.sandbox.prepare.fetcher import Fetcher, Tool
from bascule.sandbox.prepare.package_registries import Registries
from bascule.sandbox.prepare.registry_files import registries_of
from support.packages import command


def found(tmp_path: Path, tool: Tool, **env: str) -> Registries:
    node = str(tmp_path / "prefix/bin/node")
    fetcher = Fetcher(tool, (node,), node, (), (), "x")
    asked = command("x", path="", cwd=str(tmp_path / "project"), HOME=str(tmp_path), **env)
    return registries_of(fetcher, asked, {"NO_PROXY": "localhost"})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_npm_s_files_count_in_its_own_order(tmp_path: Path):
    write(tmp_path / "prefix/etc/npmrc", "registry=https://all.test\ncafile=/certs/all.pem")
    assert "--registry=https://all.test" in found(tmp_path, "npm").options

    write(tmp_path / ".npmrc", "registry=https://own.test")
    assert "--registry=https://own.test" in found(tmp_path, "npm").options

    write(tmp_path / "project/.npmrc", "registry=https://project.test")
    assert found(tmp_path, "npm").options == ("--registry=https://project.test", "--cafile=/certs/all.pem")


def test_a_file_named_by_a_variable_is_read_instead(tmp_path: Path):
    write(tmp_path / "other", "registry=https://other.test")

    assert found(tmp_path, "npm", npm_config_userconfig=str(tmp_path / "other")).options == (
        "--registry=https://other.test",
    )


def test_uv_and_pip_have_files_of_their_own(tmp_path: Path):
    write(tmp_path / ".config/uv/uv.toml", 'index-url = "https://uv.test"')
    write(tmp_path / ".config/pip/pip.conf", "[global]\nindex-url = https://pip.test")

    assert found(tmp_path, "uv").env == {"UV_INDEX_URL": "https://uv.test", "NO_PROXY": "localhost"}
    assert found(tmp_path, "pip").env["PIP_INDEX_URL"] == "https://pip.test"


def test_what_a_server_is_configured_with_counts_and_only_if_it_is_a_setting(tmp_path: Path):
    assert found(tmp_path, "uv", UV_INDEX_URL="https://server.test", TOKEN="secret").env == {
        "UV_INDEX_URL": "https://server.test",
        "NO_PROXY": "localhost",
    }


def test_a_file_that_is_no_file_says_nothing(tmp_path: Path):
    (tmp_path / ".npmrc").mkdir()

    assert found(tmp_path, "npm").options == ()
