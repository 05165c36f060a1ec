"""A login server, a state folder and a clock: all that credentials need to be real ones."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bascule.config import OAuthSettings
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.redirect import OnLogin
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.vault import Vault
from bascule.transports.auth.oauth_credentials import Credentials, Target
from support.fake_login import FakeLogin, fake_login
from support.waiting import fail_after

BACK = "http://127.0.0.1:7/callback"


class Place:
    """A login server, a state folder and a clock, from which credentials are made as processes make them."""

    def __init__(self, fake: FakeLogin, folder: Path) -> None:
        self.fake = fake
        self.now = 1000.0
        self.mask = Mask()
        self.keeper = KeyFiles(folder / "keys")
        self.vault = Vault(folder, self.keeper)
        self.folder = folder

    def credentials(self, user: str = "alice", *, on_login: OnLogin | None = None, **settings: Any) -> Credentials:
        target = Target("notes", self.fake.url, {}, OAuthSettings(**settings))
        return Credentials(target, user, self.vault, self.mask, on_login, lambda: self.now)

    async def logged_in(self, **settings: Any) -> Credentials:
        credentials = self.credentials(**settings)
        await credentials.log_in(self.fake.browser, BACK)
        return credentials

    def spend(self) -> None:
        self.now += self.fake.life or 0

    def kept(self) -> bytes:
        (path,) = (path for path in (self.folder / "keys").iterdir() if path.suffix != ".lock")
        return path.read_bytes()


@asynccontextmanager
async def place(folder: Path) -> AsyncGenerator[Place]:
    async with fail_after(20), fake_login() as fake:
        yield Place(fake, folder)
