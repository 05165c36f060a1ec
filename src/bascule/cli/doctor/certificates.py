"""Health checks of TLS certificates: validity period, host names and issuer."""

import asyncio
import ssl
import time
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from bascule.cli.doctor.check import Check, Insight
from bascule.config.model.runtime_config import ServerConfig

WITHIN = 5.0
"""Seconds for a handshake. Who is slower than that is left to the link, which waits for longer."""

SOON = 14 * 24 * 3600.0
"""Seconds before its end in which a certificate is worth a word. Those that renew themselves do so a month before."""

MOST_NAMES = 4


class Shown(msgspec.Struct, frozen=True):
    """What a certificate says of itself. Nobody has vouched for it."""

    names: tuple[str, ...]
    issuer: str
    begins: float
    ends: float

    def __str__(self) -> str:
        more = f" and {len(self.names) - MOST_NAMES} more" if len(self.names) > MOST_NAMES else ""
        names = ", ".join(self.names[:MOST_NAMES]) or "no name"
        return (
            f"certificate for {names}{more}, signed by {self.issuer}, good from {_date(self.begins)} "
            f"to {_date(self.ends)}"
        )


async def certificate_of(server: ServerConfig) -> Shown | None:
    """The certificate that a server shows. None where it has no address with TLS, or does not answer."""
    parts = urlsplit(str(getattr(server.transport, "url", "")))
    if parts.scheme not in {"https", "wss"} or not parts.hostname:
        return None
    # Nothing is sent and nothing believed: a certificate that is not accepted is the one to look at.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(WITHIN):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=context, server_hostname=parts.hostname
            )
    except (OSError, TimeoutError):
        return None
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    finally:
        writer.transport.abort()
    return read_certificate(found) if found else None


def read_certificate(data: bytes) -> Shown | None:
    from cryptography import x509  # noqa: PLC0415 -- slow to import, and only this reads certificates

    try:
        read = x509.load_der_x509_certificate(data)
        issuer = read.issuer.rfc4514_string()
        begins, ends = read.not_valid_before_utc, read.not_valid_after_utc
        return Shown(_names(read), issuer[:80], _seconds(begins), _seconds(ends))
    except ValueError:
        return None


def _names(read: "object") -> tuple[str, ...]:
    from cryptography import x509  # noqa: PLC0415 -- as above

    assert isinstance(read, x509.Certificate)
    try:
        named = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = map(str, named.get_values_for_type(x509.IPAddress))
    return (*named.get_values_for_type(x509.DNSName), *addresses)


def certificate_check(name: str, shown: Shown | None, now: float) -> list[Check]:
    """A word on one that is about to end, of a server that is reached."""
    if shown is None:
        return []
    subject, left = f"certificate {name}", shown.ends - now
    if left < SOON:
        told = f"its certificate ends in {max(0.0, left) / 86400:.0f} days"
        fix = "renew the certificate of the server, or ask whoever runs it to"
        return [Check(subject, "warn", told, str(shown), fix)]
    return [Check(subject, "ok", f"good until {_date(shown.ends)}")]


def certificate_insight(shown: Shown | None) -> list[Insight]:
    """The certificate that a server showed that could not be reached, as evidence."""
    return [] if shown is None else [Insight(evidence=str(shown))]


def _seconds(moment: datetime) -> float:
    return moment.timestamp()


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
