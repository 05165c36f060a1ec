import pytest

from bascule.sandbox.prepare.package_registries import Gathering, path_of


def test_certificates_and_proxies_go_along_and_nothing_else():
    environ = {
        "SSL_CERT_FILE": "/certs/all.pem",
        "HTTPS_PROXY": "http://proxy.test:3128",
        "no_proxy": "localhost",
        "GITHUB_TOKEN": "secret-token",
        "HOME": "/home/somebody",
    }

    found = Gathering(environ).done()

    assert found.env == {
        "SSL_CERT_FILE": "/certs/all.pem",
        "HTTPS_PROXY": "http://proxy.test:3128",
        "no_proxy": "localhost",
    }
    assert found.paths == ("/certs/all.pem",)


@pytest.mark.parametrize("value", ["http://user:word@proxy.test:3128", "user:word@proxy.test:3128"])
def test_a_proxy_with_a_password_is_left_out_and_told_by_its_name(value: str):
    found = Gathering({"HTTPS_PROXY": value}).done()

    assert found.env == {}
    assert found.left_out == ("HTTPS_PROXY",)


def test_of_several_addresses_those_without_credentials_are_taken():
    gathering = Gathering({})
    gathering.addresses("X", ["https://a.test", "https://u:w@b.test", "file:///c"])

    found = gathering.done()

    assert found.env == {"X": "https://a.test file:///c"}
    assert found.left_out == ("X",)
    assert found.paths == ("/c",)


def test_a_value_that_names_a_variable_is_left_out_since_it_may_be_a_secret():
    gathering = Gathering({})
    gathering.option("registry", "https://${TOKEN}.test")

    assert gathering.done().options == ()
    assert gathering.done().left_out == ("registry",)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("file:///srv/simple", "/srv/simple"),
        ("file:///srv/simple/", "/srv/simple"),
        ("/srv", "/srv"),
        ("own=file:///srv", "/srv"),
        ("https://a.test/srv", None),
        ("word", None),
        ("/", None),
    ],
)
def test_settings_that_name_a_place_on_this_machine(value: str, path: str | None):
    assert path_of(value) == path
