from bascule.sandbox.prepare.registry_files import pip_registries, uv_registries

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
