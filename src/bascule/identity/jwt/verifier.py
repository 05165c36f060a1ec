"""Token verifier: form, key, signature, then claims. The first check that fails rejects the token."""

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from bascule.core.errors import ConfigError, NotIdentified
from bascule.identity.jwt.claims import Expected, Identity, read_claims
from bascule.identity.jwt.compact import Compact, read_body, read_compact
from bascule.identity.jwt.keys import Key, check_one_algorithm_each
from bascule.identity.jwt.rejection import not_believed
from bascule.identity.jwt.remote_jwks import RemoteKeys

KINDS = frozenset({"jwt", "at+jwt"})
"""Types of token that an identity provider issues to be shown to servers. Others, a logout say, mean other things."""


class Believes(Protocol):
    """What decides who shows a token."""

    async def verify(self, token: str | None) -> Identity: ...

    async def aclose(self) -> None: ...


class Verifier:
    """Believes the tokens of one issuer."""

    def __init__(
        self,
        keys: Iterable[Key],
        expected: Expected,
        *,
        remote: Iterable[RemoteKeys] = (),
        kinds: frozenset[str] = KINDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = tuple(keys)
        self._remote = tuple(remote)
        self._expected = expected
        self._clock = clock
        self.kinds = kinds
        if not self._keys and not self._remote:
            raise ConfigError("tokens cannot be verified without a key", fix="give at least one under `auth.keys`")
        check_one_algorithm_each(self._keys)

    async def verify(self, token: str | None) -> Identity:
        """Who shows this token. Raises `NotIdentified` for nobody, and for anybody who cannot prove it."""
        return await self.identify(_read(token))

    async def identify(self, compact: Compact) -> Identity:
        """The same for a token that was taken apart."""
        if compact.kind not in self.kinds:
            raise not_believed("it is of a type that is not meant to be shown here", "token_kind")
        if not await self._is_signed(compact):
            raise not_believed("no key that is known here has signed it", "token_signature")
        return read_claims(read_body(compact), self._expected, self._clock())

    async def aclose(self) -> None:
        for remote in self._remote:
            await remote.aclose()

    async def _is_signed(self, compact: Compact) -> bool:
        fitting = [key for key in self._keys if key.algorithm == compact.algorithm and key.serves(compact.kid)]
        if _has_signed(fitting, compact):
            return True
        for remote in self._remote:
            # What it could never have is not looked for, so such a token makes nobody fetch anything.
            if compact.algorithm in remote.algorithms:
                fitting = await remote.find(compact.algorithm, compact.kid)
                if _has_signed(fitting, compact):
                    return True
        return False


class Verifiers:
    """Several verifiers, told apart by the types of token they believe."""

    def __init__(self, verifiers: Iterable[Verifier]) -> None:
        self._by_kind: dict[str, Verifier] = {}
        for verifier in verifiers:
            if verifier.kinds & self._by_kind.keys():
                raise ConfigError("two verifiers want to believe the same tokens", fix="keep one of them")
            self._by_kind |= dict.fromkeys(verifier.kinds, verifier)

    async def verify(self, token: str | None) -> Identity:
        compact = _read(token)
        verifier = self._by_kind.get(compact.kind)
        if verifier is None:
            raise not_believed("it is of a type that is not meant to be shown here", "token_kind")
        return await verifier.identify(compact)

    async def aclose(self) -> None:
        for verifier in {*self._by_kind.values()}:
            await verifier.aclose()


def _has_signed(keys: Iterable[Key], compact: Compact) -> bool:
    return any(key.verifies(compact.signed, compact.signature) for key in keys)


def _read(token: str | None) -> Compact:
    if not token:
        raise NotIdentified(
            "no token was shown", rule="token_shown", fix="send the header `Authorization: Bearer …` with a token"
        )
    return read_compact(token)
