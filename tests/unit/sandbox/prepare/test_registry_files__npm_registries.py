from bascule.sandbox.prepare.registry_files import npm_registries

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
