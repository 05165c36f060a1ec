"""Credentials are found in arguments, and ordinary arguments are left in peace."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bascule.config.credential_detection import credentials_in, names_credential

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"

REFUSED = [
    ["--token=abc123def"],
    ["--token", "abc123def"],
    ["--api-key", "X7"],
    ["--api-key=X7"],
    ["--apiKey", "X7"],
    ["--api_key", "X7"],
    ["--github-token", "abc"],
    ["-token", "abc"],
    ["--password", "hunter2"],
    ["--password", "1234"],
    ["--client-secret=s3cr3t"],
    ["--secret-access-key", "wJalrXUtnFEMI"],
    ["--token=abc=="],
    ["--env=GITHUB_TOKEN=abc"],
    ["-e", "GITHUB_PERSONAL_ACCESS_TOKEN=abc"],
    ["-eAPI_KEY=abc"],
    ["API_KEY=abc"],
    ["ghp_abcdefghij0123456789"],
    ["--flag", "github_pat_11ABCDEFG0abcdefghijkl"],
    ["glpat-abcdefghij0123"],
    ["sk-proj-abcdefghij0123456789"],
    ["sk-ant-api03-abcdefghij0123"],
    ["sk-abcdefghijklmnopqrstuvwx"],
    ["AKIAIOSFODNN7EXAMPLE"],
    ["xoxb-1234567890-abcdef"],
    ["sk_live_abcdefghij012345"],
    ["prefix:" + JWT],
    [JWT],
    ["--header", "Authorization: Bearer abcdefgh1"],
    ["--header", "Authorization:Bearer abcdefgh1"],
    ["--header", "Authorization: Basic dXNlcjpwdw=="],
    ["--header=X-Api-Key: abc"],
    ["--header", "X-Api-Key:abc"],
    ["-H", "api-key:abc"],
    ["Cookie: session=abc"],
    ["Bearer abcdefgh12345"],
    ["postgresql://user:hunter2@localhost/db"],
    ["--db", "mysql://:hunter2@db.test/x"],
    ["https://mcp.example.test/mcp?api_key=abc123"],
    ["https://mcp.example.test/mcp?x=1&tavilyApiKey=abc"],
    ["--config", '{"apiKey":"abc-123"}'],
    ["--key", "4f9c1b8e-7a55-4d0e-9d5a-111122223333"],
    ["-----BEGIN RSA PRIVATE KEY-----"],
]

ORDINARY = [
    ["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/data"],
    ["--token-limit", "5"],
    ["--max-tokens", "4096"],
    ["--max-tokens=4096"],
    ["--max-token", "5"],
    ["--token-type", "bearer"],
    ["--token-file", "/run/secrets/token"],
    ["--token", "/run/secrets/token"],
    ["--password-file", "pw.txt"],
    ["--password-stdin"],
    ["--token", "--verbose"],
    ["--token="],
    ["--token"],
    ["--no-password", "--port", "8000"],
    ["--token", "${GITHUB_TOKEN}"],
    ["--token", "$GITHUB_TOKEN"],
    ["--token", "GITHUB_TOKEN"],
    ["--token", "<your token>"],
    ["--secret", "secret.json"],
    ["-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
    ["--header", "Authorization:${AUTH_HEADER}"],
    ["--header", "Authorization: Bearer ${AUTH_TOKEN}"],
    ["--header", "Accept: application/json"],
    ["my-token:latest"],
    ["registry.test/vault-secret:1.2"],
    ["--with", "auth-token==1.2"],
    ["--with", "auth-token>=1.2"],
    ["--key", "server.pem"],
    ["--key", "id"],
    ["--tag", "sk-2026-release-candidate"],
    ["disk-0123456789abcdef"],
    ["postgresql://user@localhost/db"],
    ["postgresql://user:${PGPASSWORD}@localhost/db"],
    ["https://user@host.test/x", "git@github.com:a/b.git"],
    ["https://mcp.example.test/mcp?page=2&sort_key=name"],
    ["C:\\Users\\me\\secret"],
    ["--config", '{"model":"gpt","tokenLimit":"5"}'],
    ["--sort-key=name"],
    ["run", "--rm", "-i", "-v", "/a:/b", "mcp/server"],
    ["Bearer token"],
    [""],
]


@pytest.mark.parametrize("args", REFUSED, ids=" ".join)
def test_a_credential_is_found(args: list[str]):
    assert [index for index, _ in credentials_in(args)] == [len(args) - 1]


@pytest.mark.parametrize("args", ORDINARY, ids=" ".join)
def test_an_ordinary_argument_is_left_in_peace(args: list[str]):
    assert list(credentials_in(args)) == []


@given(st.text(alphabet="ÄÖÜÞ0", min_size=8))
def test_what_was_found_is_never_repeated(value: str):
    for args in (["--token", value], [f"--token={value}"], [f"postgresql://u:{value}@h/db"], [f"X-Api-Key: {value}"]):
        found = list(credentials_in(args))
        assert found
        assert all(value not in reason for _, reason in found)


@pytest.mark.parametrize(
    "name", ["TOKEN", "GITHUB_TOKEN", "githubToken", "api-key", "OPENAI_API_KEY", "db.password", "clientSecret"]
)
def test_names_of_credentials(name: str):
    assert names_credential(name)


@pytest.mark.parametrize(
    "name", ["", "TOKEN_LIMIT", "MAX_TOKENS", "tokenizer", "HOME", "SECRET_FILE", "keyboard", "sort_key", "_"]
)
def test_names_of_other_things(name: str):
    assert not names_credential(name)
