""" """

from pathlib import Path

from bascule.sandbox.prepare.fetcher import Fetcher, Tool
from bascule.sandbox.prepare.package_registries import Registries
from bascule.sandbox.prepare.registry_files import npm_registries, pip_registries, registries_of, uv_registries
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


OWN = """
; a comment=1
registry = https://own.test/npm/
@work:registry="https://work.test/"
//work.test/:_authToken=very-secret
_auth=c2VjcmV0
cafile=/certs/own.pem
save-exact=true
not a setting
"""


def test_registries_certificates_and_proxies_are_taken_and_no_token():
    found = npm_registries([OWN], {})

    assert found.options == (
        "--registry=https://own.test/npm/",
        "--@work:registry=https://work.test/",
        "--cafile=/certs/own.pem",
    )
    assert found.paths == ("/certs/own.pem",)
    assert found.left_out == ("//work.test/:_authToken", "_auth")
    assert "secret" not in repr(found)


def test_the_last_file_counts_most_and_variables_more():
    first, second = "registry=https://one.test", "registry=https://two.test"

    assert npm_registries([first, second], {}).options == ("--registry=https://two.test",)
    assert npm_registries([first], {"NPM_CONFIG_REGISTRY": "https://three.test"}).options == (
        "--registry=https://three.test",
    )


def test_a_registry_with_a_password_is_left_out():
    found = npm_registries(["registry=https://user:word@own.test"], {"npm_config_https_proxy": "http://u:w@p.test"})

    assert found.options == ()
    assert set(found.left_out) == {"registry", "https-proxy"}


UV = """
index-url = "https://one.test/simple"
extra-index-url = ["https://two.test/simple", "https://user:word@three.test/simple"]
find-links = ["/srv/wheels"]
[[index]]
name = "own"
url = "https://own.test/simple"
[[index]]
url = "https://default.test/simple"
default = true
[[index]]
name = "torch"
url = "https://torch.test"
explicit = true
"""

PIP = """
[global]
index-url = https://one.test/simple
extra-index-url =
    file:///srv/more/simple
    https://user:word@two.test/simple
[install]
find_links = /srv/wheels
"""


def test_the_indexes_of_uv_are_said_as_variables():
    found = uv_registries([UV], {})

    assert found.env == {
        "UV_INDEX_URL": "https://one.test/simple",
        "UV_EXTRA_INDEX_URL": "https://two.test/simple",
        "UV_FIND_LINKS": "/srv/wheels",
        "UV_INDEX": "own=https://own.test/simple",
        "UV_DEFAULT_INDEX": "https://default.test/simple",
    }
    assert found.paths == ("/srv/wheels",)
    assert found.left_out == ("UV_EXTRA_INDEX_URL",)


def test_a_variable_of_uv_counts_more_than_its_files():
    assert uv_registries([UV], {"UV_INDEX_URL": "https://mine.test"}).env["UV_INDEX_URL"] == "https://mine.test"


def test_a_token_of_uv_never_goes_along():
    environ = {"UV_INDEX_OWN_PASSWORD": "word", "UV_PUBLISH_TOKEN": "token", "UV_INDEX_STRATEGY": "first-index"}

    assert uv_registries(["not = [toml"], environ).env == {"UV_INDEX_STRATEGY": "first-index"}


def test_the_indexes_of_pip_are_said_as_variables():
    found = pip_registries([PIP], {"PIP_CERT": "/certs/a.pem"})

    assert found.env == {
        "PIP_INDEX_URL": "https://one.test/simple",
        "PIP_EXTRA_INDEX_URL": "file:///srv/more/simple",
        "PIP_FIND_LINKS": "/srv/wheels",
        "PIP_CERT": "/certs/a.pem",
    }
    assert set(found.paths) == {"/certs/a.pem", "/srv/more/simple", "/srv/wheels"}
    assert found.left_out == ("PIP_EXTRA_INDEX_URL",)


def test_a_file_of_pip_that_cannot_be_read_says_nothing():
    assert pip_registries(["index-url = before any section"], {}).env == {}
