"""Token verifiers made from the `auth` settings of a config."""

from functools import partial

from bascule.config.model.auth import AuthSettings, KeySet, PublicKey, SharedSecret, TokenKey
from bascule.config.secret import Secret
from bascule.identity.jwt.claims import Expected
from bascule.identity.jwt.keys import Key, public_key, secret_key
from bascule.identity.jwt.minting import MintMark
from bascule.identity.jwt.remote_jwks import RemoteKeys, fetch_key_set
from bascule.identity.jwt.verifier import Verifier, Verifiers


def verifiers_of(auth: AuthSettings, address: str, mark: MintMark | None) -> Verifiers:
    """What believes the tokens that are shown to the server at this address: those of the configured issuer, if there
    is one, and those of the mint whose mark is given. Raises `ConfigError` for a key that cannot be used."""
    configured = [configured_verifier(auth)] if auth.keys or mark is None else []
    minted = [mark.verifier(address)] if mark is not None else []
    return Verifiers((*minted, *configured))


def configured_verifier(auth: AuthSettings, scopes: frozenset[str] = frozenset()) -> Verifier:
    """What believes the tokens of the configured issuer."""
    expected = Expected(issuer=auth.issuer, audience=auth.audience, claims=auth.claims, scopes=scopes)
    fixed = tuple(_key(key) for key in auth.keys if not isinstance(key, KeySet))
    remote = tuple(_remote(key) for key in auth.keys if isinstance(key, KeySet))
    return Verifier(fixed, expected, remote=remote)


def _key(key: TokenKey) -> Key:
    if isinstance(key, SharedSecret):
        secret = key.secret.reveal() if isinstance(key.secret, Secret) else key.secret
        return secret_key(key.algorithm, secret, key.kid)
    assert isinstance(key, PublicKey)
    return public_key(key.algorithm, key.pem, key.kid)


def _remote(key: KeySet) -> RemoteKeys:
    return RemoteKeys(partial(fetch_key_set, key.url), key.algorithms)
