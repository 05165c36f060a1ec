"""Mutual TLS between gateways on several machines: both sides present a certificate of one common authority."""

import ssl
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec

from bascule.core.errors import ConfigError
from bascule.files.regular_file import read_regular
from bascule.transports.http.errors import certificate_flaw

STEPS = 4
"""Turns that both sides of a handshake take at most. It is done after three."""


class TlsFiles(msgspec.Struct, frozen=True):
    """What `bascule serve` was given for it."""

    certificate: str | None = None
    key: str | None = None
    authority: str | None = None

    @property
    def options(self) -> dict[str, str | None]:
        return {"--internal-cert": self.certificate, "--internal-key": self.key, "--internal-ca": self.authority}


class InnerTls(msgspec.Struct, frozen=True):
    """What one gateway speaks TLS with."""

    listening: ssl.SSLContext
    """Takes nobody who shows no certificate of the authority."""
    asking: ssl.SSLContext
    """Talks to nobody whose certificate is not of the authority, and for the host that was asked."""


def tls_for(url: str, files: TlsFiles) -> InnerTls | None:
    """For an address with https; None for one without. Raises `ConfigError` for files with which the others would not
    talk to us."""
    options = files.options
    if urlsplit(url).scheme != "https":
        given = [option for option, file in options.items() if file]
        if given:
            raise ConfigError(
                f"{given[0]} is of no use without an --internal-url that begins with https://",
                fix=f"write https:// there, or leave {', '.join(given)} out",
            )
        return None
    missing = [option for option, file in options.items() if not file]
    if missing:
        raise ConfigError(
            f"an --internal-url with https:// needs {', '.join(missing)} too",
            fix="name the files with this gateway's certificate, its key, and the authority that signs those of all",
        )
    for option, file in options.items():
        _read(option, file or "")
    made = InnerTls(_context(ssl.PROTOCOL_TLS_SERVER, files), _context(ssl.PROTOCOL_TLS_CLIENT, files))
    _prove(made, urlsplit(url).hostname or "")
    return made


def _read(option: str, file: str) -> None:
    try:
        read_regular(file, 1)
    except OSError as error:
        raise _unusable(option, file, error.strerror or str(error)) from error


def _context(protocol: int, files: TlsFiles) -> ssl.SSLContext:
    # No authority of this machine's is believed: these are gateways of one owner.
    context = ssl.SSLContext(protocol)
    context.verify_mode = ssl.CERT_REQUIRED
    certificate, key, authority = files.certificate or "", files.key or "", files.authority or ""
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError as error:
        raise _unusable("--internal-ca", authority, _words(error)) from error
    try:
        # Without a password, or a key that has one would be asked for at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise _unusable("--internal-cert", f"{certificate} with {key}", _words(error)) from error
    return context


def _prove(made: InnerTls, host: str) -> None:
    """Have the gateway talk to itself as others will. What they would not believe is known before anybody is served."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = made.asking.wrap_bio(back, there, server_hostname=host)
    listening = made.listening.wrap_bio(there, back, server_side=True)
    try:
        for _ in range(STEPS):
            for end in (asking, listening):
                with suppress(ssl.SSLWantReadError):
                    end.do_handshake()
    except ssl.SSLCertVerificationError as error:
        raise _not_believed(error, host) from error
    except ssl.SSLError as error:
        raise _unusable("--internal-cert", "as a pair of files", _words(error)) from error


def _not_believed(error: ssl.SSLCertVerificationError, host: str) -> ConfigError:
    failed = ConfigError(
        "other gateways would not talk to this one",
        where="--internal-cert",
        problems=(f"TLS: {error.verify_message} (OpenSSL {error.verify_code})",),
        fix=f"give a certificate that the authority of --internal-ca has signed for {host}, and that is good now; "
        "if it says what it may be used for, then for servers and for clients",
    )
    failed.cause = certificate_flaw(error)[0]
    return failed


def _unusable(option: str, file: str, evidence: str) -> ConfigError:
    return ConfigError(
        f"{option} cannot be used: {file}",
        where=option,
        problems=(evidence,),
        fix="name files in PEM that this user can read: the certificate with those above it, its key without a "
        "password, and the authority",
    )


def _words(error: ssl.SSLError) -> str:
    return f"TLS: {error.reason or error.strerror or error}"
