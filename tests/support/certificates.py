"""Certificates for servers of tests, signed by an authority of the tests' own: good ones, and each kind of bad one."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    """Signs certificates. Whoever trusts `file` trusts them."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def file(self) -> Path:
        return self.folder / "authority.pem"

    def server(self, name: str = "localhost", *, begins: int = -30, ends: int = 30) -> ssl.SSLContext:
        """What a server speaks TLS with. Its certificate is for this name, from and to so many days from now."""
        file = self.pair(name, begins=begins, ends=ends)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file, file.with_suffix(".key"))
        return context

    def pair(self, name: str = "localhost", *, begins: int = -30, ends: int = 30, usage: Any = None) -> Path:
        """The file of such a certificate. Its key lies beside it, as `.key`. `usage` is all that it may be used for."""
        key = ec.generate_private_key(ec.SECP256R1())
        named = x509.SubjectAlternativeName([x509.DNSName(name)])
        unsigned = _unsigned(name, key, self.certificate.subject, (begins, ends)).add_extension(named, critical=False)
        if usage is not None:
            unsigned = unsigned.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        file = self.folder / f"{name}{begins}{ends}.pem"
        _write(file, key, unsigned.sign(self.key, hashes.SHA256()))
        return file


def authority(folder: Path) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    unsigned = _unsigned("Tests", key, _name("Tests"), (-400, 400))
    above = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = Authority(folder, key, above.sign(key, hashes.SHA256()))
    made.file.write_bytes(made.certificate.public_bytes(serialization.Encoding.PEM))
    return made


def self_signed(file: Path, name: str = "localhost") -> ssl.SSLContext:
    """One that nobody else has signed. The file holds it."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = x509.SubjectAlternativeName([x509.DNSName(name)])
    unsigned = _unsigned(name, key, _name(name), (-30, 30)).add_extension(named, critical=False)
    _write(file, key, unsigned.sign(key, hashes.SHA256()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, file.with_suffix(".key"))
    return context


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _unsigned(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: x509.Name, days: tuple[int, int]
) -> x509.CertificateBuilder:
    now, (begins, ends) = datetime.now(UTC), days
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins * DAY)
        .not_valid_after(now + ends * DAY)
    )


def _write(file: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    file.with_suffix(".key").write_bytes(private)
